"""Wrong solutions of retiring a double record."""

from clerkship.plugin import override_methods


def link_other_records(task_item, sandboxes, reference):
    """Link the two records, and each to another one."""
    others = iter(["Patient/pat-0001", "Patient/pat-0002"])

    def update(original, patient):
        link = {"other": {"reference": next(others)}, "type": "replaces"}
        return original({**patient, "link": [*patient["link"], link]})

    return reference(task_item, override_methods(sandboxes, {"ehr.update": update}))
