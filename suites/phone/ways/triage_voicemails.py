"""Another way to hear the voicemails of the weekend."""

from clerkship.plugin import override_methods


def listen_by_phone(task_item, sandboxes, reference):
    """Dial the mailbox with its PIN, which plays the newest first; what is for billing is kept as new with a key."""
    phone = sandboxes["phone"]
    messages = {each["id"]: each for each in phone.voicemails(mailbox="front_office")}
    call = phone.dial("+15550100199")
    phone.hear(call)
    phone.press(call, "4831#")
    for message in reversed(messages.values()):
        message["text"] = phone.listen(call, 120)
        phone.press(call, "9" if "billing" in message["text"] else "2")
    phone.hear(call)
    overrides = {
        "phone.read_voicemail": lambda original, id: messages[id],
        "phone.mark_voicemail": lambda original, id, read: None,
    }
    return reference(task_item, override_methods(sandboxes, overrides))
