"""Wrong solutions of dosing magnesium."""

import copy

from clerkship.plugin import override_methods


def order_three_doses(task_item, sandboxes, reference):
    """Order once, twice and six times daily in one order."""

    def create(original, resource):
        lines = [copy.deepcopy(resource["dosageInstruction"][0]) for _ in range(3)]
        for line, times in zip(lines, (1, 2, 6), strict=True):
            line["timing"]["repeat"]["frequency"] = times
        return original({**resource, "dosageInstruction": lines})

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create}))
