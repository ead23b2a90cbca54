"""Another way to correct an address."""

from clerkship.plugin import override_methods


def correct_relatives_first(task_item, sandboxes, reference):
    """Correct the records of related persons before the patient's own."""
    updates = []

    def update(original, resource, if_match=None):
        updates.append(resource)

    reference(task_item, override_methods(sandboxes, {"ehr.update": update}))
    for resource in reversed(updates):
        sandboxes["ehr"].update(resource)
    return "The address is right now in her own record, with her contact and with her husband."
