"""Wrong solutions of the appeal with a report that another hospital has."""

from copy import copy

from clerkship.plugin import override_methods

LABORATORY = "inbox/alder-falls-laboratory-8418430.pdf"


def send_the_laboratory_report(task_item, sandboxes, reference):
    """Send what was in the folder before."""
    other = sandboxes["drop"].read(LABORATORY)
    return _send(task_item, sandboxes, reference, lambda files: [(files[0][0], other)])


def send_both(task_item, sandboxes, reference):
    """Send the laboratory report too."""
    other = sandboxes["drop"].read(LABORATORY)
    portal = sandboxes["portal"]

    def send(original, button, fields=None, files=()):
        if button != "File the appeal":
            return original(button, fields, files)
        ids = [
            portal.upload("/documents", name, data, "imaging_report")["id"] for name, data in (*files, ("b.pdf", other))
        ]
        number = portal.page.path.split("/")[-2]
        return portal.api("POST", f"/requests/{number}/appeal", {"reason": fields["reason"], "documents": ids})

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def send_nothing(task_item, sandboxes, reference):
    """Appeal without a file."""
    return _send(task_item, sandboxes, reference, lambda files: [])


def change_the_report(task_item, sandboxes, reference):
    """Change the finding of the report."""
    return _send(task_item, sandboxes, reference, lambda files: [(name, _change(data)) for name, data in files])


def _change(data):
    changed = data.replace(b"No fracture", b"A fracture.")
    if changed == data:
        raise ValueError("the file does not have its words as they are")
    return changed


def _send(task_item, sandboxes, reference, choose):
    def send(original, button, fields=None, files=()):
        return original(button, fields, choose(files) if files else files)

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def file_again(task_item, sandboxes, reference):
    """File a new request for the day after."""
    answer = reference(task_item, sandboxes)
    portal = sandboxes["portal"]
    member = {"payer": "CM002", "member_id": "CM488606389", "birth_date": "1964-05-02"}
    request = {
        "member": portal.api("POST", "/members/lookup", member)["ref"],
        "review": "services",
        "urgency": "standard",
        "place": "22",
        "requesting_npi": "9999900019",
        "servicing_npi": "9999900027",
        "diagnoses": ["M17.12"],
        "services": [{"code": "27447", "units": 1, "start": "2026-04-15", "end": "2026-04-15"}],
        "answers": {
            "knee_side": "Left",
            "joint_infection": False,
            "arthritis_grade": "4",
            "weight_bearing_x_ray_date": "2026-01-19",
            "conservative_therapy_weeks": 28,
            "bmi": 29,
        },
        "contact_name": "Maya Okafor",
        "contact_phone": "555-010-0140",
        "attest": True,
    }
    portal.api("POST", "/requests", request)
    return answer


def do_not_wait(task_item, sandboxes, reference):
    """Look for the decision once, right after the appeal."""
    appealed = []

    def send(original, button, fields=None, files=()):
        appealed.append(button)
        return original(button, fields, files)

    impatient = copy(override_methods(sandboxes, {"portal.send": send}))
    impatient.wait = lambda duration: bool(appealed) or sandboxes.wait(duration)
    return reference(task_item, impatient)
