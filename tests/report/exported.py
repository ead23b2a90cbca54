"""Runs to export: a model that calls a tool, a conversation, and a task with hostile names."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.request import Request, urlopen

from clerkship.events.agent import ActionExecuted
from clerkship.sandbox.handle import Sandboxes
from clerkship.settings import Settings
from tests.model_proxy.provider import KEY, Call, ModelProvider, Prescribed
from tests.workbench import Workbench

PROMPT = "You are a careful clerk."
READ = Call("read_file", {"path": "inbox/a.txt"})
SUITE = """
environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}}}
tasks:
  - name: Work
    tags: [files, =HYPERLINK("x")]
    task_item: {instruction: How many orders are in inbox/a.txt?, unit: orders}
    scenario: [{files.drop: {path: inbox/a.txt, text: one order}}]
    criteria:
      - {label: answers, axis: correctness, assertion: {answer_matches: "1"}}
  - name: ../../=2+3 Talk
    scenario:
      starts: person
      person: {opening: Hello, end: {when: bye}, fallback: Go on}
      max_turns: 2
    criteria:
      - {label: says bye, axis: manners, assertion: {bot_uttered: {text_matches: bye}}}
"""


class ToolAgent:
    """Lets a model call one tool, and answers what the model says then; in a conversation it says one line."""

    def on_turn(self, message: Any) -> str:
        return "Good morning."

    def on_task(self, task_item: Mapping[str, Any], sandboxes: Sandboxes) -> str:
        messages: list[Any] = [
            {"role": "system", "content": PROMPT},
            {"role": "user", "content": task_item["instruction"]},
        ]
        [call] = _ask(sandboxes, messages)["tool_calls"]
        arguments = json.loads(call["function"]["arguments"])
        sandboxes.report(ActionExecuted(name="read_file", arguments=arguments))  # the tool that the model called
        content = sandboxes["drop"].request("GET", f"/files/{arguments['path']}").body.decode()
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": content}]
        return str(_ask(sandboxes, messages)["content"])


def _ask(sandboxes: Sandboxes, messages: list[Any]) -> Any:
    address = sandboxes.models["openai"]
    headers = {"Authorization": f"Bearer {address.api_key}", "Content-Type": "application/json"}
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    with urlopen(Request(f"{address.base_url}/chat/completions", body, headers)) as response:
        return json.load(response)["choices"][0]["message"]


def run_tasks(bench: Workbench, trials: int = 1) -> str:
    """Run the suite, and return the id of the run."""
    bench.write("a.yml", SUITE)
    answers: tuple[Prescribed, ...] = (READ, "1")
    with ModelProvider(*answers * trials) as provider:
        settings = Settings(openai_base_url=f"{provider.url}/v1", openai_api_key=KEY, concurrency=1)
        task_runs = bench.run(ToolAgent, settings, trials=trials)
    assert {run.task: run.verdict for run in task_runs} == {"Work": "pass", "../../=2+3 Talk": "fail"}
    return task_runs[0].run
