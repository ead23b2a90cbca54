"""Another order of the messages for patients."""


def call_last_patient_first(task_item, sandboxes, reference):
    """Call the patients in the other order."""
    return reference({**task_item, "work_list": task_item["work_list"][::-1]}, sandboxes)
