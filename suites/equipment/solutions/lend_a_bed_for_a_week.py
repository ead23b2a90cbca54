"""Lend a bed for a week, though ten days were asked for."""


def on_task(task_item, sandboxes):
    desk, chat = sandboxes["desk"], sandboxes["chat"]
    desk.policy()
    chat.say("Equipment desk, good morning. Your name and ward, please, and what can I do for you?")
    assert "Priya Nair" in desk.call_function("get_ward", ward_id="ED")["staff"]
    beds = [each for each in desk.call_function("find_devices", kind="bed") if each["status"] == "available"]
    bed = max(beds, key=lambda each: each["serviced"])
    loan = desk.call_function("lend_device", device_id=bed["id"], ward_id="ED", days=7)
    return {"device": bed["id"], "due": loan["due"]}
