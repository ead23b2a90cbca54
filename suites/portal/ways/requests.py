"""Other ways to fill in a request, and to give the answer."""

import json

from clerkship.plugin import override_methods


def go_back_and_correct(task_item, sandboxes, reference):
    """Choose a wrong place of service first, go back, and correct it."""

    def send(original, button, fields=None, files=()):
        if button == "next" and fields and "place" in fields:
            original(button, {**fields, "place": "12", "urgency": "urgent"})
            original("back")
        return original(button, fields, files)

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def search_for_codes(task_item, sandboxes, reference):
    """Find codes and providers with the searches of the form."""

    def send(original, button, fields=None, files=()):
        if button == "add_diagnosis":
            code = fields["diagnosis_code"]
            original("search_diagnosis", {"diagnosis_search": code})
            return original(f"add_diagnosis:{code}")
        if button == "add_service":
            original("search_procedure", {"procedure_search": fields["procedure_code"]})
            original(f"use_procedure:{fields['procedure_code']}")
        elif fields and "servicing_npi" in fields:
            original("search_servicing", {"provider_search": fields["servicing_npi"]})
            original(f"choose_servicing:{fields['servicing_npi']}")
            return original(button)
        return original(button, fields, files)

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def save_each_step(task_item, sandboxes, reference):
    """Save each step before going on, and leave the form once."""
    portal = sandboxes["portal"]

    def send(original, button, fields=None, files=()):
        if button == "next" and fields:
            path = portal.page.path
            original("save", fields)
            original("leave", fields)
            portal.open(path)
        return original(button, fields, files)

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def begin_with_the_member(task_item, sandboxes, reference):
    """Look the member up first, and begin the request on the page of the member."""
    portal = sandboxes["portal"]

    def post(original, path, fields):
        portal.open("/members")

    def send(original, button, fields=None, files=()):
        if button != "find_member":
            return original(button, fields, files)
        original("Find member", fields)
        return portal.post("/drafts", {"member": portal.page.path.rpartition("/")[2]})

    return reference(task_item, override_methods(sandboxes, {"portal.send": send, "portal.post": post}))


def add_and_remove(task_item, sandboxes, reference):
    """Add a wrong diagnosis and a wrong procedure first, and remove them."""

    def send(original, button, fields=None, files=()):
        if button == "add_diagnosis":
            original(button, {"diagnosis_code": "M25.561"})
            original("remove_diagnosis:1")
        if button == "add_service":
            original(button, {**fields, "procedure_code": "72141", "units": "2"})
            original("remove_service:1")
        return original(button, fields, files)

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def answer_in_text(task_item, sandboxes, reference):
    """Answer with a sentence and the answer as JSON."""
    answer = json.dumps(reference(task_item, sandboxes), indent=2)
    return f"That is done. Here is the answer:\n\n```json\n{answer}\n```"
