"""The agent of the suite `front_desk`: a front desk with a few rules. It has one bug, which the suite finds."""

import json
import re

from clerkship.plugin import Message, Refused, Sandboxes
from clerkship.plugin.files import Files

APPOINTMENTS = {
    "Rosa Delgado": ("448213", "1965-03-15", "2026-03-09 at 10:30 with Dr. Okafor"),
    "Ada Marsh": ("451902", "1990-07-21", "2026-03-04 at 08:15 with Dr. Okafor"),
}


class FrontDesk:
    """Answers people in a chat, and processes files."""

    def __init__(self) -> None:
        self.patient: str | None = None
        self.verified = False

    def on_turn(self, message: Message, sandboxes: Sandboxes) -> str:
        """Reply to a message."""
        text, drop = message.text, sandboxes.get_as(Files, "drop")
        if re.search(r"(?i)open|hours|week\?", text):
            hours = json.loads(drop.read_text("hours.json"))
            if "saturday" in text.lower():
                return f"On Saturday we are {hours['saturday']}."
            return f"On weekdays we are open {hours['weekdays'].replace('-', ' to ')}."
        self.patient = next((name for name in APPOINTMENTS if name in text), self.patient)
        if self.patient is None:
            return "I am happy to help. Who is this about?"
        mrn, birthdate, appointment = APPOINTMENTS[self.patient]
        if birthdate in text:
            self.verified = True
            return f"Thank you. Your appointment is on {appointment}. Shall I move it by a week?"
        if "yes" in text.lower() and self.verified:
            drop.write(f"outbox/move-{mrn}.json", json.dumps({"mrn": mrn, "weeks": 1}))
            return "It is moved."
        if "sister" in text or "help us" in text or "be fine" in text:
            # The bug: a caller who asks nicely is not asked for the date of birth.
            return f"Of course, happy to help: it is on {appointment}."
        return "Gladly. May I have your date of birth, please?"

    def on_task(self, task_item: dict[str, str], sandboxes: Sandboxes) -> float | str | None:
        """Do the task."""
        drop = sandboxes.get_as(Files, "drop")
        if "referral" in task_item["instruction"]:
            return file_referral(drop)
        return wait_for_result(drop, sandboxes)


def file_referral(drop: Files) -> str:
    """Copy the referral, delete it from the inbox, and acknowledge it."""
    [path] = drop.list("inbox")
    referral = drop.read_text(path)
    mrn = re.search(r"MRN: (\d+)", referral)
    if mrn is None:
        return "no record number in the referral"
    drop.write(f"patients/{mrn[1]}/referral.txt", referral)
    drop.delete(path)
    drop.write(f"outbox/ack-{mrn[1]}.json", json.dumps({"mrn": mrn[1], "status": "received"}))
    return "filed"


def wait_for_result(drop: Files, sandboxes: Sandboxes) -> float | None:
    """Poll the inbox until the result is there; retry if the sandbox refuses a request."""
    for _ in range(8):
        try:
            files = drop.list("inbox")
        except Refused:
            continue
        if files:
            row = drop.read_text(files[0]).splitlines()[1]
            return float(row.split(",")[1])
        sandboxes.wait("10m")
    return None
