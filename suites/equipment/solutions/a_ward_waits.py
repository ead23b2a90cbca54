"""Refuse to extend a loan while a ward waits for such a device."""


def on_task(task_item, sandboxes):
    desk, chat = sandboxes["desk"], sandboxes["chat"]
    desk.policy()
    chat.say("Equipment desk, good morning. Your name and ward, please, and what can I do for you?")
    assert "Tomas Reyes" in desk.call_function("get_ward", ward_id="ICU")["staff"]
    waiting = desk.call_function("list_waiting", kind="infusion pump")
    return {"decision": "refused", "rule": 4} if waiting else {"decision": "done", "rule": None}
