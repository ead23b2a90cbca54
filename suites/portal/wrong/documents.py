"""Wrong solutions of tasks in which a document is sent."""

import base64
from copy import copy

from clerkship.plugin import override_methods


def send_another(task_item, sandboxes, reference):
    """Send the summary of the shoulder."""
    return _send(task_item, sandboxes, reference, lambda file, other: [other], "therapy-of-the-shoulder")


def send_both(task_item, sandboxes, reference):
    """Send the summary of the shoulder too."""
    return _send(task_item, sandboxes, reference, lambda file, other: [file, other], "therapy-of-the-shoulder")


def appeal_with_the_report(task_item, sandboxes, reference):
    """Send a laboratory report."""
    return _send(task_item, sandboxes, reference, lambda file, other: [other], "laboratory-report")


def appeal_with_two(task_item, sandboxes, reference):
    """Send the note of the first visit too."""
    return _send(task_item, sandboxes, reference, lambda file, other: [file, other], "first-visit")


def _send(task_item, sandboxes, reference, choose, id):
    document = sandboxes["ehr"].read("DocumentReference", id)
    other = ("other.pdf", base64.b64decode(document["content"][0]["attachment"]["data"]))

    def send(original, button, fields=None, files=()):
        return original(button, fields, choose(files[0], other) if files else files)

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def do_not_wait(task_item, sandboxes, reference):
    """Look for the decision at once."""
    impatient = copy(sandboxes)
    impatient.wait = lambda duration: True
    return reference(task_item, impatient)


def reply_twice(task_item, sandboxes, reference):
    """Send the reply a second time, before the payer has decided."""

    def send(original, button, fields=None, files=()):
        original(button, fields, files)
        sandboxes["portal"].open("/requests/R519004471/reply")
        return original(button, {"note": "", "file_type": fields["file_type"]}, files)

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def appeal_unread(task_item, sandboxes, reference):
    """Appeal without a look at the denial, by the form alone."""
    document = sandboxes["ehr"].read("DocumentReference", "therapy-of-the-back")
    portal = sandboxes["portal"]
    portal.sign_in()
    reason = "He had 8 weeks of physical therapy from 2025-12-19 to 2026-02-13, without improvement."
    file = ("summary.pdf", base64.b64decode(document["content"][0]["attachment"]["data"]))
    browser = portal.browser()
    browser.post("/requests/R633150982/appeal", {"reason": reason, "file_type": "therapy_notes"}, [_File(*file)])
    return {"denied": "R633150982", "deadline": "2026-08-17"}


class _File:
    def __init__(self, name, data):
        self.name, self.data = name, data
