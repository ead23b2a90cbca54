"""Extend a loan that may be extended."""


def on_task(task_item, sandboxes):
    desk, chat = sandboxes["desk"], sandboxes["chat"]
    desk.policy()
    chat.say("Equipment desk, good morning. Your name and ward, please, and what can I do for you?")
    ward = desk.call_function("get_ward", ward_id="ED")
    loan = next(each for each in ward["loans"] if each["number"] == "L-1001")
    waiting = desk.call_function("list_waiting", kind="bed")
    assert "Priya Nair" in ward["staff"]
    assert not loan["extended"]
    assert not waiting
    desk.call_function("extend_loan", loan_number="L-1001", days=2)
    return {"decision": "done", "rule": None}
