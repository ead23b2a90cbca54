"""Wrong solutions of sending a new phone number."""

import re


def change_chart_too(task_item, sandboxes, reference):
    """Send the message, and change the chart directly, too."""
    answer = reference(task_item, sandboxes)
    mrn = re.search(r"MRN (\d+)", task_item["instruction"])[1]
    [patient] = sandboxes["ehr"].search("Patient", identifier=mrn)
    home = {"system": "phone", "value": "(716) 555-0177", "use": "home"}
    sandboxes["ehr"].update({**patient, "telecom": [home]})
    return answer
