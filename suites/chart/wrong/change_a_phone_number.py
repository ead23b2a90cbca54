"""Wrong solutions of changing a mobile number."""

from clerkship.plugin import override_methods


def drop_email(task_item, sandboxes, reference):
    """Set the new number, and keep only the phone number at home."""
    ehr = sandboxes["ehr"]

    def patch(original, type, id, operations, **conditions):
        patient = ehr.read(type, id)
        home = [each for each in patient["telecom"] if (each["system"], each.get("use")) == ("phone", "home")]
        return ehr.update({**patient, "telecom": [*home, operations[0]["value"]]})

    return reference(task_item, override_methods(sandboxes, {"ehr.patch": patch}))
