"""Other correct ways to get an order authorized."""

import json

from clerkship.plugin import override_methods


def look_around(task_item, sandboxes, reference):
    """Look at the start page and the list of requests first."""
    portal = sandboxes["portal"]
    portal.sign_in()
    for path in ("/", "/requests", "/drafts", "/inbox"):
        portal.open(path)
    return reference(task_item, sandboxes)


def fax_as_files(task_item, sandboxes, reference):
    """Fax the records as text files."""

    def send(original, to="", *, text=None, files=None, **fields):
        records = {f"record-{number}.txt": each.encode() for number, each in enumerate(text.split("\f"), 1)}
        return original(to, files=records, **fields)

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def cover_as_text(task_item, sandboxes, reference):
    """Write the cover page as text."""

    def send(original, to="", *, text=None, files=None, cover=None, **fields):
        page = f"Riverbend Family Health Center\nTo: clinical records\nReference number: {cover['subject']}\n2 pages"
        return original(to, text=f"{page}\f{text}", files=files, **fields)

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def answer_in_text(task_item, sandboxes, reference):
    """Answer with a sentence and the answer as JSON."""
    answer = json.dumps(reference(task_item, sandboxes), indent=2)
    return f"The authorization is there.\n\n```json\n{answer}\n```"


def patch_the_order(task_item, sandboxes, reference):
    """Add the number with a PATCH."""

    def update(original, resource, *args, **fields):
        patch = [{"op": "add", "path": "/identifier", "value": resource["identifier"]}]
        return sandboxes["ehr"].patch("ServiceRequest", resource["id"], patch)

    return reference(task_item, override_methods(sandboxes, {"ehr.update": update}))
