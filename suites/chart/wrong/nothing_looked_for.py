"""Wrong solutions that read everything, and answer that there is nothing."""


def read_every_type(task_item, sandboxes):
    """Read every resource of some types."""
    for type in ("Patient", "Observation", "ServiceRequest", "Coverage"):
        sandboxes["ehr"].search(type, _count=1000)
    return {"mrn": None, "value": None}


def open_charts(task_item, sandboxes):
    """Open the charts of many patients."""
    for patient in sandboxes["ehr"].search("Patient", _count=1000)[20:70]:
        sandboxes["ehr"].everything(patient["id"])
    return {"mrn": None, "value": None}
