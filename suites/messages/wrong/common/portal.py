"""Wrong solutions that several tasks on the portal share."""


def close_all_threads(task_item, sandboxes, reference):
    """Close every thread of the portal after the work."""
    answer = reference(task_item, sandboxes)
    for thread in sandboxes["inbox"].threads(channel="portal"):
        if not thread["closed"]:
            sandboxes["inbox"].close(thread["id"])
    return answer
