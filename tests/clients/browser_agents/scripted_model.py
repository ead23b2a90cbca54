"""A model that is none: a chat-completions endpoint whose answers to browser-use follow from the page it is shown."""

import json
import re
from typing import Any

from tests.actors.servers import Answered, Asked

Action = dict[str, Any]


def answer_chat(asked: Asked) -> Answered:
    """Answer a request for a chat completion."""
    request = json.loads(asked.body)
    texts = [read_text(message["content"]) for message in request["messages"]]
    page = next(text for text in reversed(texts) if "<browser_state>" in text).rpartition("<browser_state>")[2]
    said = {"evaluation_previous_goal": "", "memory": "", "next_goal": "", "action": choose_actions(page)}
    message = {"role": "assistant", "content": json.dumps(said)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": len(page) // 4, "completion_tokens": 20, "total_tokens": len(page) // 4 + 20}
    completion = {"id": "1", "object": "chat.completion", "created": 0, "model": request["model"]}
    return (
        200,
        {"Content-Type": "application/json"},
        json.dumps(completion | {"choices": [choice], "usage": usage}).encode(),
    )


def read_text(content: str | list[dict[str, str]]) -> str:
    """Return the text of a message."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def choose_actions(page: str) -> list[Action]:
    """Return what to do on a page, for the task of a new project with a payer portal."""
    number = re.search(r"authorization number is\s+(\w+)", page)
    if number:
        return [{"done": {"text": number[1], "success": True}}]
    if "type=password" in page:
        typed = [("id=username", "<secret>username</secret>"), ("type=password", "<secret>password</secret>")]
        inputs = [{"input": {"index": find(page, name), "text": text}} for name, text in typed]
        return [*inputs, click(page, "<button", "Sign in")]
    if "id=place" in page:
        return [
            {"select_dropdown": {"index": find(page, "id=place"), "text": "22"}},
            click(page, "<button", "Save and leave"),
        ]
    if "type=checkbox" in page:
        if re.search(r"Place of service\s+22 ", page):
            return [click(page, "type=checkbox"), click(page, "<button", "Submit the request")]
        return [click(page, "<a", r"(?:\S+\s+)??Request\b")]
    for label in (r"draft_\w+", "Drafts", "Authorizations"):
        if find(page, "<a", label):
            return [click(page, "<a", label)]
    return [{"done": {"text": f"I do not know this page: {page}", "success": False}}]


def click(page: str, attribute: str, label: str = "") -> Action:
    """Return a click on an element."""
    return {"click": {"index": find(page, attribute, label)}}


def find(page: str, attribute: str, label: str = "") -> int | None:
    """Return the index of the first element with an attribute and a label; None if there is none."""
    match = re.search(rf"\[(\d+)\](?=<[^>]*{attribute.removeprefix('<')})<[^>]*>\s*{label}", page)
    return int(match[1]) if match else None
