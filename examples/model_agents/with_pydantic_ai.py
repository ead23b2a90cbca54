"""An agent with Pydantic AI: a tool, and an answer that is a number.

`clerkship run practice --tag files --agent "command:python with_pydantic_ai.py"`
"""

import json
import sys
from urllib.request import Request, urlopen

from pydantic_ai import Agent

message = json.loads(sys.stdin.readline())
drop = message["sandboxes"]["drop"]
agent = Agent("openai:gpt-5-mini", instructions="Answer with the number alone.")  # reads the run's variables


@agent.tool_plain
def read_file(path: str) -> str:
    """Read a file."""
    request = Request(f"{drop['url']}/files/{path}", headers={"Authorization": f"Bearer {drop['token']}"})
    with urlopen(request) as response:
        return response.read().decode()


result = agent.run_sync(message["task_item"]["instruction"])
print(json.dumps({"answer": int(result.output)}))
