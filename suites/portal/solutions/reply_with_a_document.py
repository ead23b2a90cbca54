"""Answer the question of a payer with the document of the chart that it asks for, and wait for the decision."""

import base64
import re
from datetime import datetime


def on_task(task_item, sandboxes):
    ehr, portal, instruction = sandboxes["ehr"], sandboxes["portal"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    reference = re.search(r"R\d{9}", instruction)[0]
    documents = ehr.search("DocumentReference", patient=patient["id"])
    [summary] = [each for each in documents if re.search("discharge.*right knee", each.get("description", ""))]
    weeks = re.search(r"(\d+) weeks", summary["description"])[1]
    attachment = summary["content"][0]["attachment"]
    file = ("summary.pdf", base64.b64decode(attachment["data"]))
    portal.sign_in()
    portal.open(f"/requests/{reference}/reply")
    portal.send("Send reply", {"answer_therapy_weeks": weeks, "file_type": "therapy_notes"}, [file])
    sandboxes.wait("8h")
    portal.sign_in()
    portal.open(f"/requests/{reference}")
    text = portal.page.text
    number = re.search(r"CM\d{8}", text)
    days = re.findall(r"\d\d/\d\d/\d{4}", text[text.index("Valid") :]) if number else []
    return {
        "status": "approved" if number else "denied",
        "number": number and number[0],
        "valid_to": days and f"{max(datetime.strptime(day, '%m/%d/%Y') for day in days[:2]):%Y-%m-%d}",
    }
