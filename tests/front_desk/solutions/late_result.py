"""Wait for the next scheduled step, then read the result."""

from clerkship.plugin import Refused


def on_task(task_item, sandboxes):
    drop = sandboxes["drop"]
    try:
        drop.list("inbox")
    except Refused:
        sandboxes.wait()
    [path] = drop.list("inbox")
    return float(drop.read_text(path).splitlines()[1].split(",")[1])
