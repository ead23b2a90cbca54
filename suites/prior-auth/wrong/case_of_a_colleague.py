"""Wrong solutions of the case that a colleague began."""

from clerkship.plugin import override_methods

PREPARED = "inbox/fax-delgado-knee.txt"


def fax_what_is_prepared(task_item, sandboxes, reference):
    """Fax the file of the colleague, which is about a namesake."""
    prepared = sandboxes["drop"].read_text(PREPARED)
    send = lambda original, to, *, text, **fields: original(to, text=prepared, **fields)  # noqa: E731
    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def fax_both(task_item, sandboxes, reference):
    """Fax the record, and the file of the colleague."""
    prepared = sandboxes["drop"].read_text(PREPARED)

    def send(original, to, *, text, **fields):
        return original(to, text=f"{text}\f{prepared}", **fields)

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def ask_again(task_item, sandboxes, reference):
    """Ask the line first whether the procedure needs an authorization."""
    phone = sandboxes["phone"]
    replies = {
        "How can I help": "Does procedure code 7 3 7 2 1 need prior authorization?",
        "anything else": "No, thank you. Goodbye.",
        "date of birth?": "Born 1990-03-31.",
        "What is the member ID": "The member ID is C M 9 8 2 3 9 6 2 0 2.",
        "To speak with a representative, press": "0",
        "provider identifier": "9999900019",
    }
    call, heard = phone.dial("+18005550142"), ""
    while phone.show_call(call)["status"] != "ended":
        heard = f"{heard} {phone.listen(call)}"
        question = next((each for each in replies if each in heard), None)
        if question is not None:
            (phone.press if replies[question].isdigit() else phone.say)(call, replies[question])
            heard = ""
    return reference(task_item, sandboxes)


def begin_anew(task_item, sandboxes, reference):
    """Save a draft of one's own besides."""
    answer = reference(task_item, sandboxes)
    sandboxes["portal"].post("/drafts", {})
    return answer


def submit_twice(task_item, sandboxes, reference):
    """File the same request for the day after too."""
    answer = reference(task_item, sandboxes)
    portal = sandboxes["portal"]
    member = {"payer": "CM002", "member_id": "CM982396202", "birth_date": "1990-03-31"}
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
            "conservative_therapy_weeks": 8,
            "joint_x_ray": True,
            "joint_x_ray_date": "2026-01-15",
            "surgery_planned": False,
        },
        "contact_name": "Maya Okafor",
        "contact_phone": "555-010-0140",
        "attest": True,
    }
    portal.api("POST", "/requests", request)
    return answer


def change_the_procedure(task_item, sandboxes, reference):
    """Ask for an MRI with contrast."""
    portal = sandboxes["portal"]
    [row] = portal.api("GET", "/drafts")["drafts"]
    services = [{"code": "73722", "units": 1, "start": "2026-03-17", "end": "2026-03-17"}]

    def send(original, button, fields=None, files=()):
        if button == "submit":
            portal.api("PATCH", f"/drafts/{row['id']}", {"services": services})
        return original(button, fields, files)

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))
