"""Wrong solutions of the task with a prior authorization packet."""

from clerkship.plugin import override_methods


def send_note_of_another_patient(task_item, sandboxes, reference):
    """Add the note of another patient to the packet."""
    return _send_also("scan-0412", task_item, sandboxes, reference)


def send_note_of_another_condition(task_item, sandboxes, reference):
    """Add a note about another condition to the packet."""
    return _send_also("scan-0415", task_item, sandboxes, reference)


def send_older_note(task_item, sandboxes, reference):
    """Add an older note to the packet."""
    return _send_also("scan-0413", task_item, sandboxes, reference)


def send_draft(task_item, sandboxes, reference):
    """Add a draft to the packet."""
    return _send_also("scan-0417", task_item, sandboxes, reference)


def _send_also(name, task_item, sandboxes, reference):
    note = sandboxes["drop"].read_text(f"notes/paredes/{name}.txt")

    def send(original, to, text):
        return original(to, text=f"{text.replace('4 pages', '5 pages')}\f{note}")

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def read_no_drafts(task_item, sandboxes, reference):
    """Read only the notes that belong in the packet."""

    def list_files(original, prefix):
        return [path for path in original(prefix) if path[-6:-4] in ("11", "14", "16")]

    return reference(task_item, override_methods(sandboxes, {"drop.list": list_files}))


def skip_scan(task_item, sandboxes, reference):
    """Do not read the note of another patient."""

    def list_files(original, prefix):
        return [path for path in original(prefix) if "0412" not in path]

    return reference(task_item, override_methods(sandboxes, {"drop.list": list_files}))
