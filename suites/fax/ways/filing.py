"""Other ways to file what came by fax."""

from clerkship.plugin import override_methods


def name_codes(task_item, sandboxes, reference):
    """Write the name of a test beside its code, and who measured it."""

    def create(original, resource):
        if resource["resourceType"] != "Observation":
            return original(resource)
        [coding] = resource["code"]["coding"]
        code = {"coding": [{**coding, "display": resource["code"]["text"]}]}
        return original({**resource, "code": code, "performer": [{"display": "Northgate Laboratory"}]})

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create}))


def file_document_first(task_item, sandboxes, reference):
    """File the results after the document."""
    return _create_later("Observation", task_item, sandboxes, reference)


def create_task_first(task_item, sandboxes, reference):
    """File a document after its Task."""
    return _create_later("DocumentReference", task_item, sandboxes, reference)


def _create_later(type, task_item, sandboxes, reference):
    """Create the resources of a type after the resource that follows them."""
    waiting = []

    def create(original, resource):
        if resource["resourceType"] == type:
            waiting.append(resource)
            return resource
        created = original(resource)
        while waiting:
            original(waiting.pop(0))
        return created

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create}))


def correct_afterwards(task_item, sandboxes, reference):
    """File a corrected result as it was at first, and then change it."""
    ehr = sandboxes["ehr"]

    def create(original, resource):
        if resource.get("status") != "corrected":
            return original(resource)
        first = {**resource, "status": "final", "valueQuantity": {**resource["valueQuantity"], "value": 6.9}}
        return ehr.update({**resource, "id": original(first)["id"]})

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create}))
