"""Warn before a painkiller is signed for a patient who takes a blood thinner."""

from clerkship.plugin.cds_hooks import describe_service

PREFETCH = {"active": "MedicationRequest?patient={{context.patientId}}&status=active"}


def on_task(task_item, sandboxes):
    def check(request):
        """Warns of painkillers for patients on a blood thinner."""
        taken = find_drugs(list_resources(request["prefetch"]["active"]), task_item["blood_thinners"])
        orders = list_resources(request["context"]["draftOrders"])
        return [
            build_card(painkiller, taken[0])
            for order in orders
            for painkiller in find_drugs([order], task_item["painkillers"])
            if taken
        ]

    with sandboxes["hooks"].serve([describe_service("order-sign", check, prefetch=PREFETCH)]):
        sandboxes.wait("1h")


def list_resources(bundle):
    """Return the resources of a Bundle; none without one."""
    return [entry["resource"] for entry in (bundle or {}).get("entry", ())]


def find_drugs(prescriptions, names):
    """Return the names of drugs that prescriptions are for."""
    return [name for each in prescriptions for name in names if name in describe_drug(each)]


def describe_drug(prescription):
    """Return all texts of a prescription's drug, in small letters."""
    drug = prescription.get("medicationCodeableConcept", {})
    texts = [drug.get("text", ""), *(coding.get("display", "") for coding in drug.get("coding", ()))]
    return " ".join(texts).lower()


def build_card(painkiller, blood_thinner):
    """Return the card for one order."""
    return {
        "summary": f"{painkiller} with {blood_thinner}: risk of serious bleeding",
        "indicator": "warning",
        "source": {"label": "Riverbend order safety"},
    }
