"""Other ways to order the potassium and the repeat level."""

from clerkship.plugin import override_methods


def order_one_by_one(task_item, sandboxes, reference):
    """Create each order by itself."""

    def transaction(original, bundle):
        for entry in bundle["entry"]:
            sandboxes["ehr"].create(entry["resource"])

    return reference(task_item, override_methods(sandboxes, {"ehr.transaction": transaction}))


def read_everything(task_item, sandboxes, reference):
    """Read the whole chart of the patient in place of the last result."""

    def bundle(original, type, query):
        everything = sandboxes["ehr"].everything(query["patient"])
        results = [each for each in everything if each["resourceType"] == type and "2823-3" in str(each["code"])]
        latest = max(results, key=lambda each: str(each["effectiveDateTime"]))
        return {"entry": [{"resource": {"valueQuantity": {"value": float(latest["valueQuantity"]["value"])}}}]}

    return reference(task_item, override_methods(sandboxes, {"ehr.bundle": bundle}))
