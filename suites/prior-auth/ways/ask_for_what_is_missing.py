"""Fax the page as a text file."""

from clerkship.plugin import override_methods


def fax_as_file(task_item, sandboxes, reference):
    def send(original, to="", *, text=None, **fields):
        return original(to, files={"page.txt": text.encode()}, **fields)

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))
