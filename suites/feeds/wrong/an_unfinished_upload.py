"""Wrong solutions of the task with an unfinished upload."""

from clerkship.plugin import override_methods

PART = "inbox/referrals-0304.csv.part"
COLUMNS = ("referral_id", "mrn", "family_name", "birth_date", "service", "priority")


def order_first_row_early(task_item, sandboxes, reference):
    """Order what the part has at once, and the rest later."""
    row = _read_rows(sandboxes)[0]
    _order(sandboxes["ehr"], row)

    def create(original, resource):
        return None if resource["identifier"][0]["value"] == row["referral_id"] else original(resource)

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create}))


def process_part(task_item, sandboxes):
    """Take the part for the whole."""
    for row in _read_rows(sandboxes):
        _order(sandboxes["ehr"], row)
    return {"ordered": 2}


def _read_rows(sandboxes):
    lines = sandboxes["drop"].read_text(PART).splitlines()[1:]
    return [dict(zip(COLUMNS, [*line.split(","), "routine"], strict=False)) for line in lines]


def _order(ehr, row):
    [patient] = ehr.search("Patient", identifier=row["mrn"])
    ehr.create(
        {
            "resourceType": "ServiceRequest",
            "status": "active",
            "intent": "order",
            "priority": row["priority"],
            "identifier": [{"system": "https://partner.example/referral", "value": row["referral_id"]}],
            "code": {"text": row["service"]},
            "subject": {"reference": f"Patient/{patient['id']}"},
        }
    )
