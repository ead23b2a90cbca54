"""Check the eGFR before metformin is signed, and read it with the access token of each call."""

import json
import urllib.request

EGFR = "Observation?patient={patient}&code=http://loinc.org|98979-8&status=final&_sort=-date&_count=1"


def on_task(_, sandboxes):
    with sandboxes["hooks"].serve({"order-sign": check}):
        sandboxes.wait("1h")


def check(request):
    """Checks the kidneys before metformin is signed."""
    orders = [entry["resource"] for entry in request["context"]["draftOrders"]["entry"]]
    if not any("metformin" in describe_drug(order) for order in orders):
        return []
    results = fetch(request, EGFR.format(patient=request["context"]["patientId"]))
    if not results:
        return [build_card("warning", "There is no eGFR in the chart: check it before metformin")]
    value = results[0]["valueQuantity"]["value"]
    if value < 30:
        return [build_card("critical", f"Metformin with an eGFR of {value}: do not give it")]
    return [build_card("warning", f"Metformin with an eGFR of {value}: reduce the dose")] if value < 45 else []


def describe_drug(prescription):
    """Return all texts of a prescription's drug, in small letters."""
    drug = prescription.get("medicationCodeableConcept", {})
    texts = [drug.get("text", ""), *(coding.get("display", "") for coding in drug.get("coding", ()))]
    return " ".join(texts).lower()


def fetch(request, query):
    """Return the resources that a search finds, with the access token of the call."""
    token = request["fhirAuthorization"]["access_token"]
    url = f"{request['fhirServer'].rstrip('/')}/{query}"
    search = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(search, timeout=8) as response:
        return [entry["resource"] for entry in json.load(response).get("entry", ())]


def build_card(indicator, summary):
    """Return a card."""
    return {"summary": summary, "indicator": indicator, "source": {"label": "Riverbend kidney check"}}
