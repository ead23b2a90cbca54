"""Read why a request was denied, and appeal with the document that was missing."""

import base64
import re
from datetime import datetime


def on_task(task_item, sandboxes):
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    portal.sign_in()
    denied = find_denied(portal, coverage["subscriberId"])
    documents = ehr.search("DocumentReference", patient=patient["id"])
    [summary] = [each for each in documents if "discharge summary, low back" in each.get("description", "")]
    weeks, start, end = re.search(r"(\d+) weeks, from (\S+) to (\S+),", summary["description"]).groups()
    reason = (
        "The denial says that no record of conservative treatment was sent. The patient had "
        f"{weeks} weeks of physical therapy from {start} to {end}, without improvement. The summary is attached."
    )
    file = ("summary.pdf", base64.b64decode(summary["content"][0]["attachment"]["data"]))
    portal.open(f"/requests/{denied}/appeal")
    deadline = re.search(r"\d\d/\d\d/\d{4}", portal.page.text[portal.page.text.index("Appeal") :])[0]
    portal.send("File the appeal", {"reason": reason, "file_type": "therapy_notes"}, [file])
    return {
        "denied": denied,
        "deadline": f"{datetime.strptime(deadline, '%m/%d/%Y'):%Y-%m-%d}",
    }


def find_denied(portal, member_id):
    """Return the denied request for imaging of the spine."""
    portal.open("/requests", {"member_id": member_id, "status": "denied"})
    references = re.findall(r"/requests/(R\d+)$", "\n".join(path for path, _ in portal.page.links), re.MULTILINE)
    for reference in references:
        portal.open(f"/requests/{reference}")
        if "imaging of the spine" in portal.page.text:
            return reference
    raise LookupError("no request was denied")
