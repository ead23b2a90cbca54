"""An agent with LangChain and LangGraph: a ReAct agent with one tool.

`clerkship run practice --tag files --agent "command:python with_langgraph.py"`
"""

import json
import sys
from urllib.request import Request, urlopen

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

message = json.loads(sys.stdin.readline())
drop = message["sandboxes"]["drop"]


@tool
def read_file(path: str) -> str:
    """Read a file."""
    request = Request(f"{drop['url']}/files/{path}", headers={"Authorization": f"Bearer {drop['token']}"})
    with urlopen(request) as response:
        return response.read().decode()


model = ChatOpenAI(model="gpt-5-mini")  # reads the run's variables
agent = create_agent(model, [read_file], system_prompt="Answer with the number alone.")
state = agent.invoke({"messages": [("user", message["task_item"]["instruction"])]})
print(json.dumps({"answer": int(state["messages"][-1].content)}))
