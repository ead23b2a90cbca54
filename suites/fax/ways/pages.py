"""Other ways to send the pages of a fax."""

from clerkship.plugin import override_methods


def send_page_by_page(task_item, sandboxes, reference):
    """Send each page as a document of its own."""

    def send(original, to, text, **fields):
        documents = [{"name": f"{number}.txt", "text": page} for number, page in enumerate(text.split("\f"), 1)]
        return original(to, documents=documents, **fields)

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def send_as_file(task_item, sandboxes, reference):
    """Send the text as a file."""

    def send(original, to, text, **fields):
        return original(to, files={"fax.txt": text.encode()}, **fields)

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def enclose_pictures(task_item, sandboxes, reference):
    """Enclose the letter and the report of an appeal as pictures."""
    fax = sandboxes["fax"]

    def send(original, to, text, files):
        letters = [fax.faxes(direction="inbound", address=number)[0]["id"] for number in PAYER_AND_THERAPIST]
        return original(to, text=text, files={f"{id}.png": fax.page(id, 1) for id in letters})

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


PAYER_AND_THERAPIST = ("+15550177001", "+15550177072")


def return_pictures(task_item, sandboxes, reference):
    """Return each page of a fax as a picture."""

    def send(original, to, text, files, in_reply_to):
        pages = {f"{number}.png": page for number, page in enumerate(sandboxes["fax"].pages(in_reply_to))}
        return original(to, text=text, files=pages, in_reply_to=in_reply_to)

    return reference(task_item, override_methods(sandboxes, {"fax.send": send}))


def patch_number(task_item, sandboxes, reference):
    """Patch a changed number."""

    def update(original, practice):
        change = {"op": "replace", "path": "/telecom/1/value", "value": practice["telecom"][1]["value"]}
        return sandboxes["ehr"].patch("Organization", practice["id"], [change])

    return reference(task_item, override_methods(sandboxes, {"ehr.update": update}))


def read_last_first(task_item, sandboxes, reference):
    """Answer the last request first."""

    def inbox(original):
        return original()[::-1]

    return reference(task_item, override_methods(sandboxes, {"fax.inbox": inbox}))
