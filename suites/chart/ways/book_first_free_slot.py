"""Other ways to book the first free slot."""

from clerkship.plugin import override_methods


def change_one_by_one(task_item, sandboxes, reference):
    """Create the appointment, and then change the slot."""

    def transaction(original, bundle):
        appointment, slot = (entry["resource"] for entry in bundle["entry"])
        sandboxes["ehr"].create(appointment)
        sandboxes["ehr"].update(slot)

    return reference(task_item, override_methods(sandboxes, {"ehr.transaction": transaction}))
