"""An agent with the `openai` package: a loop of chat completions with one tool.

`clerkship run practice --tag files --agent "command:python with_openai.py"`
"""

import json
import sys
from urllib.request import Request, urlopen

from openai import OpenAI

message = json.loads(sys.stdin.readline())
drop = message["sandboxes"]["drop"]
client = OpenAI()  # reads the run's variables


def read_file(path: str) -> str:
    """Read a file."""
    request = Request(f"{drop['url']}/files/{path}", headers={"Authorization": f"Bearer {drop['token']}"})
    with urlopen(request) as response:
        return response.read().decode()


PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = {"name": "read_file", "description": "Read a file.", "parameters": PARAMETERS}
messages = [
    {"role": "system", "content": "Answer with the number alone."},
    {"role": "user", "content": message["task_item"]["instruction"]},
]
answer = None
while answer is None or answer.tool_calls:
    tools = [{"type": "function", "function": TOOL}]
    answer = client.chat.completions.create(model="gpt-5-mini", messages=messages, tools=tools).choices[0].message
    messages.append(answer.model_dump(exclude_none=True))
    for call in answer.tool_calls or ():
        content = read_file(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
print(json.dumps({"answer": int(answer.content)}))
