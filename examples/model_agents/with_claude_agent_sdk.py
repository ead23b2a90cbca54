"""An agent with the Claude Agent SDK: the loop of Claude Code, with one tool of its own instead of Claude Code's tools.

`clerkship run practice --tag files --agent "command:python with_claude_agent_sdk.py"`
"""

import asyncio
import json
import sys
from urllib.request import Request, urlopen

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

message = json.loads(sys.stdin.readline())
drop = message["sandboxes"]["drop"]


def download(path):
    request = Request(f"{drop['url']}/files/{path}", headers={"Authorization": f"Bearer {drop['token']}"})
    with urlopen(request) as response:
        return response.read().decode()


@tool("read_file", "Read a file.", {"path": str})
async def read_file(arguments):
    return {"content": [{"type": "text", "text": download(arguments["path"])}]}


OPTIONS = ClaudeAgentOptions(  # Claude Code reads the run's variables
    model="claude-sonnet-4-6",
    system_prompt="Answer with the number alone.",
    mcp_servers={"clerk": create_sdk_mcp_server("clerk", tools=[read_file])},
    allowed_tools=["mcp__clerk__read_file"],
    tools=[],
    setting_sources=[],
    max_turns=10,
    env={
        "CLAUDE_CODE_SIMPLE": "1",  # no prompt describes the machine and the folder, so a replay works on any
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # no model call for the title of the session, no telemetry
    },
)


async def answer(instruction):
    steps = [step async for step in query(prompt=instruction, options=OPTIONS)]
    return next(step.result for step in steps if isinstance(step, ResultMessage))


print(json.dumps({"answer": int(asyncio.run(answer(message["task_item"]["instruction"])))}))
