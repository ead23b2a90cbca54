"""Other correct ways to work on a request or a denial that exists already."""

import re

from clerkship.plugin import override_methods


def fax_first(task_item, sandboxes, reference):
    """Fax the record, then reply on the portal."""
    held = {}

    def send(original, button, fields=None, files=()):
        held["reply"] = lambda: original(button, fields, files)

    def fax(original, *args, **fields):
        sent = original(*args, **fields)
        held["reply"]()
        return sent

    return reference(task_item, override_methods(sandboxes, {"portal.send": send, "fax.send": fax}))


def reply_by_api(task_item, sandboxes, reference):
    """Reply by the REST API."""
    number = re.search(r"R\d{9}", task_item["instruction"])[0]

    def send(original, button, fields=None, files=()):
        answers = {name.removeprefix("answer_"): float(value) for name, value in fields.items()}
        sandboxes["portal"].api("POST", f"/requests/{number}/reply", {"answers": answers})

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))
