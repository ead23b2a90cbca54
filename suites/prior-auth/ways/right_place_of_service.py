"""Another correct way to find out why a request was denied."""


def look_at_the_denial(task_item, sandboxes, reference):
    """Look at the denied request on the portal too, before the call."""
    portal = sandboxes["portal"]
    portal.sign_in()
    portal.open("/requests/R407713519")
    return reference(task_item, sandboxes)
