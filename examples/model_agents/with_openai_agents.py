"""An agent with the OpenAI Agents SDK: one tool, and the runner of the SDK.

`clerkship run practice --tag files --agent "command:python with_openai_agents.py"`
"""

import json
import sys
from urllib.request import Request, urlopen

from agents import Agent, Runner, function_tool, set_tracing_disabled

set_tracing_disabled(True)  # traces go to OpenAI, with the key
message = json.loads(sys.stdin.readline())
drop = message["sandboxes"]["drop"]


@function_tool
def read_file(path: str) -> str:
    """Read a file."""
    request = Request(f"{drop['url']}/files/{path}", headers={"Authorization": f"Bearer {drop['token']}"})
    with urlopen(request) as response:
        return response.read().decode()


agent = Agent("Clerk", instructions="Answer with the number alone.", tools=[read_file], model="gpt-5-mini")
result = Runner.run_sync(agent, message["task_item"]["instruction"])
print(json.dumps({"answer": int(result.final_output)}))
