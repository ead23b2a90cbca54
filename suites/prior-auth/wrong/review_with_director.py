"""Wrong solutions of the task in which a medical director reviews a denial."""

from clerkship.plugin import override_methods

DENIAL = "R407713406"
ANSWER = {"status": "denied", "reference": DENIAL, "number": None, "valid_to": None}
MEMBER = {"payer": "HL001", "member_id": "HL286923565", "birth_date": "1992-07-07"}


def give_up(task_item, sandboxes, reference):
    """Look at the denial, and answer that it is denied."""
    portal = sandboxes["portal"]
    portal.sign_in()
    portal.open(f"/requests/{DENIAL}")
    return ANSWER


def send_nothing(task_item, sandboxes, reference):
    """Answer after the call that it stays denied, without a fax."""
    try:
        reference(task_item, override_methods(sandboxes, {"fax.send": _stop}))
    except _Stopped:
        return ANSWER
    return None


def appeal_instead(task_item, sandboxes, reference):
    """Appeal before the call."""
    portal = sandboxes["portal"]
    portal.sign_in()
    portal.open(f"/requests/{DENIAL}/appeal")
    portal.send("File the appeal", {"reason": "The strength of the leg is 3 of 5."})
    return reference(task_item, sandboxes)


def file_anew(task_item, sandboxes, reference):
    """File a new request for the same, for the day after, when the review is over."""
    answer, portal = reference(task_item, sandboxes), sandboxes["portal"]
    member = portal.api("POST", "/members/lookup", MEMBER)
    request = {
        "member": member["ref"],
        "review": "services",
        "urgency": "standard",
        "requesting_npi": "9999900019",
        "servicing_npi": "9999900027",
        "place": "22",
        "diagnoses": ["M54.16"],
        "services": [{"code": "72148", "units": 1, "start": "2026-03-13", "end": "2026-03-13"}],
        "answers": {
            "spine_region": "Lumbar",
            "red_flags": True,
            "red_flag_kind": "New or worsening weakness",
            "conservative_therapy_weeks": 5,
            "conservative_therapy_kind": "Physical therapy",
            "prior_spine_imaging": False,
        },
        "contact_name": "Maya Okafor",
        "contact_phone": "555-010-0140",
        "attest": True,
    }
    portal.api("POST", "/requests", request)
    return answer


class _Stopped(Exception):
    """Raised where a solution is to stop."""


def _stop(original, *args, **fields):
    raise _Stopped
