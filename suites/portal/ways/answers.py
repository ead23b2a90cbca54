"""Other ways to look things up, to send documents, and to give answers."""

import json
import re
from datetime import date

from clerkship.plugin import override_methods


def answer_in_text(task_item, sandboxes, reference):
    """Answer with a sentence and the answer as JSON."""
    answer = json.dumps(reference(task_item, sandboxes), indent=2)
    return f"That is done. Here is the answer:\n\n```json\n{answer}\n```"


def answer_with_days_in_words(task_item, sandboxes, reference):
    """Answer with days such as March 2, 2026."""
    text = json.dumps(reference(task_item, sandboxes))
    return json.loads(re.sub(r"\d{4}-\d\d-\d\d", lambda day: f"{date.fromisoformat(day[0]):%B %-d, %Y}", text))


def answer_in_capitals(task_item, sandboxes, reference):
    """Answer with a status that begins with a capital letter, as the portal writes it."""
    text = json.dumps(reference(task_item, sandboxes))
    return json.loads(
        re.sub(r'"(approved|denied|in review|withdrawn)"', lambda word: f'"{word[1].capitalize()}"', text)
    )


def look_around(task_item, sandboxes, reference):
    """Look at the start page, the list of requests and the inbox first."""
    portal = sandboxes["portal"]
    portal.sign_in()
    for path in ("/", "/requests", "/drafts", "/inbox", "/profile"):
        portal.open(path)
    return reference(task_item, sandboxes)


def look_up_by_name(task_item, sandboxes, reference):
    """Look the member up with the name too."""
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    name = next(name for name in patient["name"] if name.get("use") == "official")

    def send(original, button, fields=None, files=()):
        return original(button, {**fields, "family": name["family"], "given": name["given"][0]}, files)

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def choose_the_plan(task_item, sandboxes, reference):
    """Ask by the plan instead of the member."""

    def open_page(original, path, query=None):
        if path == "/authorization-check":
            query = {"code": query["code"], "plan": "evergreen-senior-basic"}
        return original(path, query)

    return reference(task_item, override_methods(sandboxes, {"portal.open": open_page}))


def look_at_the_start_page(task_item, sandboxes, reference):
    """Sort the list, and page through it."""

    def open_page(original, path, query=None):
        if path == "/requests":
            original(path, {"sort": "oldest"})
            original(path, {"sort": "status", "page": "1"})
        return original(path, query)

    return reference(task_item, override_methods(sandboxes, {"portal.open": open_page}))


def begin_and_delete(task_item, sandboxes, reference):
    """Begin a draft, and delete it."""
    portal = sandboxes["portal"]
    portal.sign_in()
    portal.post("/drafts", {})
    portal.post(re.sub(r".*(/drafts/[^/#]+).*", r"\1/delete", portal.page.path), {})
    return reference(task_item, sandboxes)


def name_the_file_otherwise(task_item, sandboxes, reference):
    """Upload the file under another name, as another type of document."""

    def send(original, button, fields=None, files=()):
        return original(
            button, {**fields, "file_type": "clinical_note"}, [("PT discharge.pdf", data) for _, data in files]
        )

    return reference(task_item, override_methods(sandboxes, {"portal.send": send}))


def answer_in_a_letter(task_item, sandboxes, reference):
    """Answer with a letter that has the answer on one line."""
    answer = json.dumps(reference(task_item, sandboxes))
    return f"Good afternoon,\n\nI have seen to it on the payer portal.\n\n{answer}\n\nWith kind regards\nyour assistant"


def answer_as_the_portal_writes(task_item, sandboxes, reference):
    """Answer in few words, with the status and days as the portal writes them."""
    text = json.dumps(reference(task_item, sandboxes))
    text = re.sub(r': "(approved|denied|in review|withdrawn)"', lambda word: f': "{word[1].capitalize()}"', text)
    return "Result: " + re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\2/\3/\1", text)
