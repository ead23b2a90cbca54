"""Lend the pump that was serviced last."""


def on_task(task_item, sandboxes):
    desk, chat = sandboxes["desk"], sandboxes["chat"]
    desk.policy()
    chat.say("Equipment desk, good morning. Your name and ward, please, and what can I do for you?")
    staff = desk.call_function("get_ward", ward_id="3E")["staff"]
    assert "Chidi Abara" in staff
    pumps = [each for each in desk.call_function("find_devices", kind="infusion pump") if each["status"] == "available"]
    pump = max(pumps, key=lambda each: each["serviced"])
    loan = desk.call_function("lend_device", device_id=pump["id"], ward_id="3E", days=5)
    return {"device": pump["id"], "due": loan["due"]}
