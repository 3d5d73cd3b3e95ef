"""A client of modbox mcp, by the SDK of the protocol's authors: lists the tools and calls some, in one mode of the SDK.

Prints one JSON object. The SDK checks each answer against the schema of its tool, and raises if one does not fit.

usage: sdk_client.py MODE CALLS COMMAND... ; MODE is legacy, auto or a version; CALLS a list of [tool, arguments] as JSON
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def main(mode, calls, command):
    server = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        answers = []
        for tool, arguments in calls:
            try:
                answer = await client.call_tool(tool, arguments)
                answers.append({"error": answer.is_error, "structure": answer.structured_content})
            except MCPError as error:
                answers.append({"code": error.error.code})
        together = await asyncio.gather(*(client.call_tool(*call) for call in calls[:1] * 32))
        return {
            "protocol": client.protocol_version,
            "tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools],
            "answers": answers,
            "together": sum(not answer.is_error for answer in together),
        }


print(json.dumps(asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]))))
