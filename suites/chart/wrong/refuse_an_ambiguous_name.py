"""Wrong solutions of refusing an ambiguous name."""

from clerkship.plugin import override_methods


def name_all_patients(task_item, sandboxes, reference):
    """Answer with every patient."""

    def search(original, type, query):
        return original(type)

    return reference(task_item, override_methods(sandboxes, {"ehr.search": search}))
