"""Wrong solutions of tasks about results that arrive by HL7."""

from clerkship.plugin import override_methods
from clerkship.plugin.hl7 import parse_message


def file_for_namesake(task_item, sandboxes, reference):
    """Take the patient of the same name, whatever the record number."""
    [entry] = sandboxes["lab"].inbox()
    message = parse_message(entry["message"])

    def search(original, type, **query):
        if type != "Patient":
            return original(type, **query)
        given = str(message.value("PID.5.2")).split()[0]
        found = original("Patient", family=message.value("PID.5.1"), given=given)
        others = [each for each in found if each["birthDate"].replace("-", "") != message.value("PID.7")]
        return [{**each, "birthDate": message.value("PID.7")} for each in others[:1]]

    return reference(task_item, override_methods(sandboxes, {"ehr.search": search}))


def acknowledge_first(task_item, sandboxes, reference):
    """Acknowledge all messages before they are filed."""
    entries = sandboxes["lab"].inbox()
    for entry in entries:
        sandboxes["lab"].acknowledge(entry["id"])
    overrides = {"lab.inbox": lambda original: entries, "lab.acknowledge": lambda original, *arguments: None}
    return reference(task_item, override_methods(sandboxes, overrides))


def file_elsewhere_first(task_item, sandboxes, reference):
    """File the result for another patient, and correct it."""

    def create(original, resource):
        created = original({**resource, "subject": {"reference": "Patient/pat-0001"}})
        return sandboxes["ehr"].update({**created, "subject": resource["subject"]})

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create}))


def file_last_only(task_item, sandboxes, reference):
    """File only the final result."""
    overrides = {
        "ehr.create": lambda original, resource: resource,
        "ehr.update": lambda original, resource: sandboxes["ehr"].create(resource),
    }
    return reference(task_item, override_methods(sandboxes, overrides))
