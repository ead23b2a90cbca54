"""Wrong solutions of the task about a page for a person."""

from clerkship.plugin import override_methods


def before_the_check(task_item, sandboxes, reference):
    """Write the Task before the portal has asked for a person."""
    held = []

    def send(original, button, fields=None, files=()):
        if button == "submit":
            held.append((original, fields))
            original("save", fields)
            page = sandboxes["portal"].page
            vars(page)["html"] = "<h1>Verify that you are a person</h1>"  # as if the portal had asked
            return None
        return original(button, fields, files)

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def delete_the_draft(task_item, sandboxes, reference):
    """Delete the draft in another session."""
    answer = reference(task_item, sandboxes)
    portal = sandboxes["portal"]
    portal.sign_in()
    portal.open("/drafts")
    path = next(form.action for form in portal.page.forms if form.action.endswith("/delete"))
    portal.post(path[path.index("/drafts/") :], {})
    return answer
