"""Other correct ways to appeal with a report that another hospital has."""

from clerkship.plugin import override_methods


def appeal_by_api(task_item, sandboxes, reference):
    """Upload the report and appeal by the REST API."""
    portal = sandboxes["portal"]

    def send(original, button, fields=None, files=()):
        [(name, data)] = files
        document = portal.upload("/documents", name, data, "imaging_report")["id"]
        number = portal.page.path.split("/")[-2]
        portal.api("POST", f"/requests/{number}/appeal", {"reason": fields["reason"], "documents": [document]})

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def request_with_a_cover(task_item, sandboxes, reference):
    """Request the report under a cover page."""

    def send(original, to, *, text, **fields):
        return original(
            to, text=text, cover={"attention": "Medical records", "subject": "Request for records"}, **fields
        )

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))
