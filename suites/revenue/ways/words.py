"""Other ways to write what tasks of this suite ask for, and to give their answers."""

import json
from datetime import datetime

from clerkship.plugin import override_methods


def write_by_patch(task_item, sandboxes, reference):
    """Change only what is new in a resource."""
    ehr = sandboxes["ehr"]

    def update(original, resource):
        earlier = ehr.read(resource["resourceType"], resource["id"])
        new = {key: value for key, value in resource.items() if earlier.get(key) != value}
        operations = [{"op": "add", "path": f"/{key}", "value": value} for key, value in new.items()]
        return ehr.patch(resource["resourceType"], resource["id"], operations)

    return reference(task_item, override_methods(sandboxes, {"ehr.update": update}))


def write_in_transaction(task_item, sandboxes, reference):
    """Write each resource in a transaction."""
    ehr = sandboxes["ehr"]

    def write(method, resource):
        url = f"{resource['resourceType']}/{resource['id']}" if method == "PUT" else resource["resourceType"]
        entry = {"resource": resource, "request": {"method": method, "url": url}}
        ehr.transaction({"resourceType": "Bundle", "type": "transaction", "entry": [entry]})

    def create(original, resource):
        write("POST", resource)

    def update(original, resource):
        write("PUT", resource)

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create, "ehr.update": update}))


def send_files(task_item, sandboxes, reference):
    """Send interchanges as files, and wait for the replies."""
    drop = sandboxes["drop"]

    def send(original, edi):
        earlier = set(drop.list("inbound"))
        drop.write(f"outbound/request-{edi[90:99]}.x12", edi)
        sandboxes.wait("15m")
        return "".join(drop.read_text(path) for path in sorted(set(drop.list("inbound")) - earlier))

    return reference(task_item, override_methods(sandboxes, {"clearing.send": send}))


def answer_in_text(task_item, sandboxes, reference):
    """Answer with a sentence and the answer as JSON."""
    answer = json.dumps(reference(task_item, sandboxes), indent=2)
    return f"That is done. Here is the answer:\n\n```json\n{answer}\n```\n\nLet me know if you need anything else."


def answer_with_days_in_words(task_item, sandboxes, reference):
    """Answer with days such as March 2, 2026."""
    return {key: write_day(value) for key, value in reference(task_item, sandboxes).items()}


def write_day(value):
    """Return a day in words, and any other value as it is."""
    try:
        return f"{datetime.strptime(value, '%Y-%m-%d'):%B %-d, %Y}"
    except (TypeError, ValueError):
        return value


def answer_with_status_as_code(task_item, sandboxes, reference):
    """Answer with a status such as NOT_ON_FILE."""
    answer = reference(task_item, sandboxes)
    return {**answer, "status": answer["status"].upper().replace(" ", "_")}


def answer_as_biller(task_item, sandboxes, reference):
    """Answer with a sentence, and the status with a capital letter."""
    answer = reference(task_item, sandboxes)
    status = answer["status"].capitalize()
    return f"Just heard back from the plan. They have it as: {status}.\n{json.dumps({**answer, 'status': status})}"


def answer_with_remark(task_item, sandboxes, reference):
    """Answer with the answer as JSON and a sentence after it."""
    return f"{json.dumps(reference(task_item, sandboxes), sort_keys=True)}\n\nThat is what they have as of today."


def answer_as_letter(task_item, sandboxes, reference):
    """Answer with the answer as JSON between a greeting and a closing."""
    answer = json.dumps(reference(task_item, sandboxes), indent=4)
    return f"Dear colleague,\n\nthe plan has this about our claim:\n\n{answer}\n\nKind regards"


def answer_as_older_clerk(task_item, sandboxes, reference):
    """Answer with the answer as JSON, its last key first, between two sentences."""
    answer = dict(reversed(reference(task_item, sandboxes).items()))
    told = "I have asked the plan, and this is what they told me."
    return f"{told}\n\n{json.dumps(answer)}\n\nI left a task for the office."


def answer_on_one_line(task_item, sandboxes, reference):
    """Answer with JSON without spaces after a few words."""
    return f"Claim checked: {json.dumps(reference(task_item, sandboxes), separators=(',', ':'))}"
