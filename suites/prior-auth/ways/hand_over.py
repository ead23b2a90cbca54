"""Another way to save the draft of a request that is handed over."""

from clerkship.plugin import override_methods

STEPS = (
    ("next", {}),
    ("next", {"review": "services", "urgency": "standard", "place": "22"}),
    ("next", {"servicing_npi": "9999900027"}),
    ("add_diagnosis", {"diagnosis_code": "M54.16"}),
    ("next", {}),
    (
        "add_service",
        {
            "procedure_code": "72148",
            "units": "1",
            "unit": "units",
            "frequency": "total",
            "start": "03/20/2026",
            "end": "03/20/2026",
        },
    ),
    ("next", {}),
    ("update", {"answer_spine_region": "Lumbar", "answer_red_flags": "no", "answer_conservative_therapy_weeks": "8"}),
    ("update", {"answer_conservative_therapy_kind": "Physical therapy"}),
)
MEMBER = {
    "payer": "EV004",
    "member_id": "EV262232587",
    "birth_date": "08/23/1951",
    "family": "Goodwin",
    "given": "Benjamin",
}


def fill_in_pages(task_item, sandboxes, reference):
    """Fill in the form page by page instead of over the API."""
    portal = sandboxes["portal"]

    def api(original, method, path, data=None, query=None):
        if path == "/members/lookup":
            return {"ref": ""}
        portal.post("/drafts", {})
        portal.send("find_member", MEMBER)
        for button, fields in STEPS:
            portal.send(button, fields)
        return {"id": portal.page.path.split("/")[2]}

    return reference(task_item, override_methods(sandboxes, {"portal.api": api}))
