"""Wrong solutions of the task about five requests."""


def reverse(task_item, sandboxes, reference):
    """List the newest first."""
    return {"requests": reference(task_item, sandboxes)["requests"][::-1]}


def approve_all(task_item, sandboxes, reference):
    """Say that all of them are approved."""
    return {"requests": [{**each, "status": "approved"} for each in reference(task_item, sandboxes)["requests"]]}


def invent_a_number(task_item, sandboxes, reference):
    """Give each request an authorization number."""
    requests = reference(task_item, sandboxes)["requests"]
    return {"requests": [{**each, "number": each["number"] or "HL60417724"} for each in requests]}
