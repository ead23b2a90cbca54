"""None of the work. What a wrong solution does instead is in the calls and the answer of its entry."""


def on_task(task_item, sandboxes):
    return {}
