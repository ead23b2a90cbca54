"""Wrong solutions of the task in which the fax number of a payer has changed."""

from types import SimpleNamespace

from clerkship.plugin import override_methods

GUIDE = "/policies/CM-ADM-001/2026.1"


def name_the_old_guide(task_item, sandboxes, reference):
    """Name the version that has ended."""
    return {**reference(task_item, sandboxes), "source": "CM-ADM-001 2025.4"}


def name_both_guides(task_item, sandboxes, reference):
    """Name both versions."""
    return {**reference(task_item, sandboxes), "source": "CM-ADM-001 2026.1 and CM-ADM-001 2025.4"}


def do_not_read(task_item, sandboxes, reference):
    """Name the guide without a look at it."""

    def open_page(original, path, query=None):
        if path == "/policies":
            sandboxes["portal"].page.links[:] = [(GUIDE, "Guide for practices")]
            return sandboxes["portal"].page
        return SimpleNamespace(text="This version is in force. 5550177101") if path == GUIDE else original(path, query)

    return reference(task_item, override_methods(sandboxes, {"portal.open": open_page}))


def fax_to_both(task_item, sandboxes, reference):
    """Fax the record to the old number first."""

    def send(original, to="", **fields):
        original("+15550177111", **fields)
        return original(to, **fields)

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def read_later(task_item, sandboxes, reference):
    """Read the guide when all is done."""
    answer = do_not_read(task_item, sandboxes, reference)
    sandboxes["portal"].open(GUIDE)
    return answer
