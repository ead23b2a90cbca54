"""Wrong solutions of tasks in which a request is filed twice, or too early."""

from copy import copy

from clerkship.plugin import override_methods


def file_again(task_item, sandboxes, reference):
    """Fill in the form again after the error page."""
    answer = reference(task_item, sandboxes)
    reference(task_item, sandboxes)
    return answer


def do_not_wait(task_item, sandboxes, reference):
    """Submit before the report is there, and take the day of the visit for that of the X-ray."""
    impatient = copy(sandboxes)
    impatient.wait = lambda duration: True

    def search(original, type, **filters):
        found = original(type, **filters)
        for each in found if type == "DocumentReference" else ():
            text = each.get("description", "").replace(
                "X-ray: taken last week, the report will follow", "X-ray on 2026-02-23"
            )
            each["description"] = text
        return found

    return reference(task_item, override_methods(impatient, {"ehr.search": search}))
