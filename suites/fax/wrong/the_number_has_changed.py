"""Wrong solutions of the task with a changed number."""

from clerkship.plugin import override_methods

OLD_NUMBER, NEW_NUMBER = "+15550177014", "+15550177040"


def skip_old_number(task_item, sandboxes, reference):
    """Send to the number in the contacts at once."""
    failed = {"id": "none", "status": "failed", "error": "number not in service"}

    def send(original, to, **fields):
        return failed if to == OLD_NUMBER else original(to, **fields)

    def status(original, id):
        return failed if id == "none" else original(id)

    return reference(task_item, override_methods(sandboxes, {"fax.send": send, "fax.status": status}))


def correct_number_first(task_item, sandboxes, reference):
    """Correct the number in the chart before anything is delivered."""
    ehr = sandboxes["ehr"]

    def send(original, to, **fields):
        if to == NEW_NUMBER:
            practice = ehr.read("Organization", "org-orchard-hill")
            practice["telecom"][1]["value"] = to
            ehr.update(practice)
        return original(to, **fields)

    overrides = {"fax.send": send, "ehr.update": lambda original, practice: None}
    return reference(task_item, override_methods(sandboxes, overrides))


def keep_old_number(task_item, sandboxes, reference):
    """Add the new number to the old one."""

    def update(original, practice):
        numbers = practice["telecom"]
        return original({**practice, "telecom": [*numbers, {**numbers[1], "value": OLD_NUMBER}]})

    return reference(task_item, override_methods(sandboxes, {"ehr.update": update}))
