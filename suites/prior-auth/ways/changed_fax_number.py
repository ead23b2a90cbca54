"""Other correct ways to verify a fax number before a fax."""

from types import SimpleNamespace

from clerkship.plugin import override_methods

GUIDE = "/policies/CM-ADM-001/2026.1"


def read_the_file(task_item, sandboxes, reference):
    """Read the guide in the folder `policies`, not on the portal."""

    def open_page(original, path, query=None):
        if path == "/policies":
            sandboxes["portal"].page.links[:] = [(GUIDE, "Guide for practices")]
            return sandboxes["portal"].page
        if path == GUIDE:
            return SimpleNamespace(
                text=f"This version is in force. {sandboxes['drop'].read('policies/CM-ADM-001_2026.1.html')}"
            )
        return original(path, query)

    return reference(task_item, override_methods(sandboxes, {"portal.open": open_page}))


def read_by_api(task_item, sandboxes, reference):
    """Read both versions of the guide by the REST API first."""
    for version in ("2025.4", "2026.1"):
        sandboxes["portal"].api("GET", f"/policies/CM-ADM-001/{version}")
    return reference(task_item, sandboxes)


def name_in_a_sentence(task_item, sandboxes, reference):
    """Say which version gives way."""
    answer = reference(task_item, sandboxes)
    return {**answer, "source": "Guide for practices CM-ADM-001, version 2026.1, which superseded version 2025.4"}
