"""Other correct ways to finish the case that a colleague began."""

from clerkship.plugin import override_methods


def read_what_is_prepared(task_item, sandboxes, reference):
    """Read the file that is prepared for the fax first."""
    drop = sandboxes["drop"]
    for path in drop.list("inbox"):
        drop.read(path)
    return reference(task_item, sandboxes)


def correct_by_api(task_item, sandboxes, reference):
    """Correct the draft by the REST API, before it is submitted on the pages."""
    portal = sandboxes["portal"]
    [row] = portal.api("GET", "/drafts")["drafts"]
    answers = portal.api("GET", f"/drafts/{row['id']}")["answers"]

    def send(original, button, fields=None, files=()):
        page = original(button, fields, files)
        if button == "update":
            portal.api("PATCH", f"/drafts/{row['id']}", {"answers": {**answers, "conservative_therapy_weeks": "8"}})
        return page

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))
