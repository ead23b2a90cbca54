"""A wrong solution of the task about two namesakes."""


def file_for_the_namesake(task_item, sandboxes, reference):
    """Take the other patient of the same name."""
    return reference(
        {**task_item, "instruction": task_item["instruction"].replace("1986-02-28", "1993-02-07")}, sandboxes
    )
