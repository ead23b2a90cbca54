"""Other ways to find that there is no result."""

from clerkship.plugin import override_methods


def read_everything(task_item, sandboxes, reference):
    """Read the whole chart of the patient."""

    def search(original, type, **query):
        if type == "Patient":
            return original(type, **query)
        sandboxes["ehr"].everything(query["patient"])
        return []

    return reference(task_item, override_methods(sandboxes, {"ehr.search": search}))
