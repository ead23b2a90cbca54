"""A wrong solution of the line that mishears digits that is more than changed calls."""


def book_for_front_office(task_item, sandboxes, reference):
    """Book the call for the number of the front office."""
    instruction = task_item["instruction"].replace("010-0137", "010-0100")
    assert instruction != task_item["instruction"]
    return reference({**task_item, "instruction": instruction}, sandboxes)
