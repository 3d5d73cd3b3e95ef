"""Clients of modbox mcp, by the SDK of the protocol's authors. Each lists the tools and calls some, in one mode of the SDK.

Prints one JSON object per client. The SDK checks each answer against the schema of its tool, and raises if one does not fit.

usage: sdk_client.py CLIENTS COMMAND...
CLIENTS is a list of objects as JSON. `mode` is legacy, auto or a version. `answer` is what a person says to questions: yes, no,
cancel, or none for a client that cannot ask. `calls` is a list of [tool, arguments]; the first is repeated `together` times at
once after them. `directory` is where the server starts.
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


async def talk(command, mode, answer, calls, together, directory):
    questions = []

    async def ask(_context, params):
        questions.append(params.message)
        return ElicitResult(**ANSWERS[answer])

    # The SDK passes few variables on.
    env = {"HOME": f"{directory}/home", "TMPDIR": f"{directory}/tmp", "XDG_STATE_HOME": f"{directory}/home/state"}
    env["XDG_CACHE_HOME"] = os.environ["XDG_CACHE_HOME"]
    server = StdioServerParameters(command=command[0], args=command[1:], env=env, cwd=directory)
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
        repeated = await asyncio.gather(*(client.call_tool(*calls[0]) for _ in range(together)))
        return {
            "protocol": client.protocol_version,
            "tools": [tool.name for tool in listed.tools],
            "answers": answers,
            "questions": questions,
            "together": sum(not given.is_error for given in repeated),
        }


async def main(clients, command):
    for client in clients:
        print(json.dumps(await talk(command, **client)), flush=True)


asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2:]))
