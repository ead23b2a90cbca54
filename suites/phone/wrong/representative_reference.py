"""A wrong solution of the review by a representative that is more than changed calls."""

from clerkship.plugin import override_methods


def record_second_number(task_item, sandboxes, reference):
    """Record the number of the case, and another one."""

    def create(original, resource):
        more = {"contentString": "Peer-to-peer review requested, case HL-40718236"}
        return original({**resource, "payload": [*resource["payload"], more]})

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create}))
