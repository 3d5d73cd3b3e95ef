"""A client of modbox mcp, by the SDK of the protocol's authors: lists the tools and calls some, in one mode of the SDK.

Prints one JSON object. The SDK checks each answer against the schema of its tool, and raises if one does not fit.

usage: sdk_client.py MODE ANSWER CALLS COMMAND...
MODE is legacy, auto or a version. ANSWER is what a person says to questions: yes, no, cancel, or none for a client that cannot
ask. CALLS is a list of [tool, arguments] as JSON.
"""

import asyncio
import json
import os
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ElicitResult

ANSWERS = {
    "yes": {"action": "accept", "content": {"decision": "apply"}},
    "no": {"action": "accept", "content": {"decision": "discard"}},
    "cancel": {"action": "cancel"},
}


async def main(mode, answer, calls, command):
    questions = []

    async def ask(_context, params):
        questions.append(params.message)
        return ElicitResult(**ANSWERS[answer])

    # The SDK passes few variables on.
    passed = {name: os.environ[name] for name in ["HOME", "TMPDIR", "XDG_STATE_HOME"]}
    server = StdioServerParameters(command=command[0], args=command[1:], env=passed)
    can_ask = {"elicitation_callback": ask} if answer in ANSWERS else {}
    async with Client(server, mode=mode, **can_ask) as client:
        listed = await client.list_tools()
        answers = []
        for tool, arguments in calls:
            try:
                given = await client.call_tool(tool, arguments)
                answers.append({"error": given.is_error, "structure": given.structured_content})
            except MCPError as error:
                answers.append({"code": error.error.code})
        together = await asyncio.gather(*(client.call_tool(*call) for call in calls[:1] * 32))
        return {
            "protocol": client.protocol_version,
            "tools": [tool.name for tool in listed.tools],
            "answers": answers,
            "questions": questions,
            "together": sum(not given.is_error for given in together),
        }


print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:]))))
