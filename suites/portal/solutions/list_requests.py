"""Read what became of the requests of a week."""

import re
from datetime import datetime


def on_task(task_item, sandboxes):
    portal = sandboxes["portal"]
    portal.sign_in()
    portal.open("/requests", {"requested_from": "02/16/2026", "requested_to": "02/20/2026"})
    links = "\n".join(path for path, _ in portal.page.links)
    references = sorted(set(re.findall(r"/requests/(R\d+)$", links, re.MULTILINE)))
    return {"requests": [read_request(portal, reference) for reference in references]}


def read_request(portal, reference):
    """Return what the page of a request says."""
    portal.open(f"/requests/{reference}")
    text = portal.page.text
    status = re.search(r"(?i)\b(approved|denied|in review|withdrawn)\b", text[text.index(reference) :])[1].lower()
    number = re.search(r"\b(?:HL|CM|EV|VM)\d{8}\b", text)
    valid = re.search(r"\d\d/\d\d/\d{4} (?:to|–|-|through) (\d\d/\d\d/\d{4})", text)
    return {
        "reference": reference,
        "status": status,
        "number": number and number[0],
        "valid_to": f"{datetime.strptime(valid[1], '%m/%d/%Y'):%Y-%m-%d}" if number and valid else None,
    }
