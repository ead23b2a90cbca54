"""Wrong solutions of tasks about a request or a denial that exists already."""

from copy import copy
from types import SimpleNamespace

from clerkship.plugin import override_methods


def skip_the_letter(task_item, sandboxes, reference):
    """Reply from what the task says, without a look at the letter."""

    def open_page(original, path, query=None):
        if path.startswith("/inbox/"):
            return SimpleNamespace(text=task_item["instruction"])
        return original(path, query)

    return reference(task_item, override_methods(sandboxes, {"portal.open": open_page}))


def do_not_fax(task_item, sandboxes, reference):
    """Send no fax, and answer as if one had been sent."""
    sent = {"id": "fax_none", "status": "delivered"}
    fakes = {"fax.send": lambda original, *args, **fields: sent, "fax.status": lambda original, id: sent}
    return reference(task_item, override_methods(sandboxes, fakes))


def do_not_wait(task_item, sandboxes, reference):
    """Look for the decision once, while the payer still works on it."""
    impatient = copy(sandboxes)
    impatient.wait = lambda duration: sandboxes.wait(duration) if duration.endswith("m") else True
    return reference(task_item, impatient)


def file_again(task_item, sandboxes, reference):
    """File a request for the same procedure on the next day too."""
    answer = reference(task_item, sandboxes)
    portal = sandboxes["portal"]
    filed = portal.api("GET", f"/requests/{answer['reference']}")
    member = {
        "payer": "CM002",
        "member_id": filed["member"]["member_id"],
        "birth_date": filed["member"]["birth_date"],
    }
    request = {
        "member": portal.api("POST", "/members/lookup", member)["ref"],
        "review": "services",
        "urgency": "standard",
        "place": "22",
        "requesting_npi": "9999900019",
        "servicing_npi": "9999900027",
        "diagnoses": ["M23.91"],
        "services": [{"code": "73721", "units": 1, "start": "2026-03-18", "end": "2026-03-18"}],
        "answers": {
            "joint": "Knee",
            "joint_side": "Right",
            "acute_injury": False,
            "conservative_therapy_weeks": 10,
            "joint_x_ray": False,
            "surgery_planned": False,
        },
        "contact_name": "Maya Okafor",
        "contact_phone": "555-010-0140",
        "attest": True,
    }
    portal.api("POST", "/requests", request)
    return answer
