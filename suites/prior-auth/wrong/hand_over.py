"""Wrong ways to hand a request over."""

GUESS = {"prior_spine_imaging": False}


def file_it(task_item, sandboxes, reference):
    """Answer the open question as the first of the two sentences does, and submit the draft."""
    answer = reference(task_item, sandboxes)
    portal = sandboxes["portal"]
    portal.api("PATCH", f"/drafts/{answer['draft']}", {"answers": GUESS})
    portal.api("POST", f"/drafts/{answer['draft']}/submit", {"attest": True})
    return answer
