"""Refuse a person who is not on the staff list of the ward."""


def on_task(task_item, sandboxes):
    desk, chat = sandboxes["desk"], sandboxes["chat"]
    desk.policy()
    chat.say("Equipment desk, good morning. Your name and ward, please, and what can I do for you?")
    staff = desk.call_function("get_ward", ward_id="ICU")["staff"]
    return {"decision": "done", "rule": None} if "Jonas Holm" in staff else {"decision": "refused", "rule": 1}
