"""Wrong solutions of booking the first free slot."""

from clerkship.plugin import override_methods


def add_second_patient(task_item, sandboxes, reference):
    """Book the slot for another patient, too."""

    def transaction(original, bundle):
        participant = {"actor": {"reference": "Patient/pat-0050"}, "status": "accepted"}
        bundle["entry"][0]["resource"]["participant"].append(participant)
        return original(bundle)

    return reference(task_item, override_methods(sandboxes, {"ehr.transaction": transaction}))
