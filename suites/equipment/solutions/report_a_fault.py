"""Take a scale back and report what is wrong with it."""


def on_task(task_item, sandboxes):
    desk, chat = sandboxes["desk"], sandboxes["chat"]
    desk.policy()
    chat.say("Equipment desk, good morning. Your name and ward, please, and what can I do for you?")
    assert "Lena Moritz" in desk.call_function("get_ward", ward_id="3E")["staff"]
    desk.call_function("return_device", device_id="SCALE-01", condition="used")
    desk.call_function("report_fault", device_id="SCALE-01", description="It shows ten kilos too much.")
    return {"decision": "done", "rule": None}
