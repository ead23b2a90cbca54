"""Birthdays that have passed."""

import re
from datetime import date


def on_task(task_item, sandboxes):
    mrn = re.search(r"MRN (\d+)", task_item["instruction"])[1]
    [patient] = sandboxes["ehr"].search("Patient", identifier=mrn)
    born, today = date.fromisoformat(patient["birthDate"]), sandboxes.now.date()
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))
