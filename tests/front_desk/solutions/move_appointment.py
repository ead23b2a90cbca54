"""Ask for the date of birth, name the appointment, and move it."""

import json


def on_turn(message, sandboxes):
    if "1965-03-15" in message.text:
        return "Your appointment is with Dr. Okafor on 9 March. Shall I move it by a week?"
    if "Yes" in message.text:
        sandboxes["drop"].write("outbox/move-448213.json", json.dumps({"mrn": "448213", "weeks": 1}))
        return "It is moved."
    return "Please tell me your date of birth."
