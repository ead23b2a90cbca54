"""Another way to record the review by a representative."""

from clerkship.plugin import override_methods


def put_with_own_id(task_item, sandboxes, reference):
    """Put the record with an id of ours."""

    def create(original, resource):
        return sandboxes["ehr"].update({**resource, "id": "review-by-phone"})

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create}))
