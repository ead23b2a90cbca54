"""Wrong solutions, and other correct ones, of the tasks of `suites/fax` about sorting faxes and laboratory reports."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.suites.overridden_solutions import Agent, Verb, do_nothing, override_solution
from tests.suites.suite_checks import Mistake
from tests.suites.test_shipped import ROOT

FAX = ROOT / "suites" / "fax"
Resource = dict[str, Any]

RETURNED = "Send back a fax that is for another clinic"
SOLUTIONS = {RETURNED: "sort_faxes"}
OTHER_CHANGES = "Nothing else was changed in the chart"
NO_INSTRUCTION = "No fax has an instruction about a drug"


def solve(task: str, **verbs: Verb) -> Agent:
    """Return the solution of a task with some methods overridden."""
    return override_solution(FAX, SOLUTIONS[task], **verbs)


def do_also(task: str, more: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return the solution of a task, after which something else is done."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        answer = solve(task, **verbs)(task_item, sandboxes)
        more(sandboxes)
        return answer

    return on_task


def do_first(task: str, first: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return the solution of a task, before which something else is done."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        first(sandboxes)
        return solve(task, **verbs)(task_item, sandboxes)

    return on_task


def answer_with(task: str, answer: Any) -> Agent:
    """Return the solution of a task with another answer."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        solve(task)(task_item, sandboxes)
        return answer

    return on_task


# Parts of faxes and of the chart that differ.


def send_with(**fields: Any) -> Verb:
    """Override `fax.send` so that it has other fields; None removes one."""

    def send(verb: Verb, to: str, **given: Any) -> Any:
        changed = {**given, **fields}
        return verb(changed.pop("to", to), **{key: value for key, value in changed.items() if value is not None})

    return send


def send_words(change: Callable[[str], str]) -> Verb:
    """Override `fax.send` so that the text is another one."""
    return lambda send, to, **fields: send(to, **{**fields, "text": change(fields["text"])})


def add_words(words: str) -> Verb:
    """Override `fax.send` so that the text says more."""
    return send_words(lambda text: f"{text}\n{words}")


def send_again(send: Verb, to: str, **fields: Any) -> Any:
    """Override `fax.send` so that a fax goes out twice."""
    send(to, **fields)
    return send(to, **fields)


def send_also(number: str) -> Verb:
    """Override `fax.send` so that another number gets the fax, too."""

    def send(verb: Verb, to: str, **fields: Any) -> Any:
        verb(number, **{key: value for key, value in fields.items() if key != "in_reply_to"})
        return verb(to, **fields)

    return send


def create_with(type: str, /, **elements: Any) -> Verb:
    """Override `ehr.create` so that resources of a type have other elements; None removes one."""

    def create(verb: Verb, resource: Resource) -> Any:
        if resource["resourceType"] != type:
            return verb(resource)
        return verb({key: value for key, value in {**resource, **elements}.items() if value is not None})

    return create


def create_no(type: str) -> Verb:
    """Override `ehr.create` so that resources of a type are left out."""
    return lambda create, resource: resource if resource["resourceType"] == type else create(resource)


def delete_and_restore(sandboxes: Any) -> None:
    """Delete a record of an allergy, and restore it."""
    allergy = sandboxes["ehr"].read("AllergyIntolerance", "alg-0099-aspirin")
    sandboxes["ehr"].delete("AllergyIntolerance", "alg-0099-aspirin")
    sandboxes["ehr"].update(allergy)


def send_first_page(send: Verb, to: str, **fields: Any) -> Any:
    """Override `fax.send` so that only the first page goes back."""
    page = send.__self__.page("fax_7301", 1)  # type: ignore[attr-defined]
    return send(to, **{**fields, "files": {"page.png": page}})


def delete_early(sandboxes: Any) -> None:
    """Delete a file of the fax server before anything else is done."""
    [path] = sandboxes["drop"].list("inbox")
    sandboxes["drop"].delete(path)


def delete_content_early(send: Verb, to: str, **fields: Any) -> Any:
    """Override `fax.send` so that the content is deleted at once."""
    sent = send(to, **fields)
    send.__self__.delete_content("fax_7301")  # type: ignore[attr-defined]
    return sent


def file_and_delete(sandboxes: Any) -> None:
    """File the letter for the patient, and remove it."""
    attachment = {"contentType": "image/tiff", "url": "/faxes/fax_7301"}
    document = {"status": "current", "content": [{"attachment": attachment}]}
    subject = {"subject": {"reference": "Patient/pat-0022"}}
    created = sandboxes["ehr"].create({"resourceType": "DocumentReference", **document, **subject})
    sandboxes["ehr"].delete("DocumentReference", created["id"])


WENT_BACK = "The fax went back to the sender, once"
OUR_PAGE = "Our page says that it is misdirected, and whom it is for"
ALL_PAGES = "All of its pages went back"
SENT_ON = "It was sent on to nobody"
REPORTED = "A Task reports it without naming the patient"
IN_ORDER = "It was read before it went back, and deleted after that had arrived"
RETURN_MISTAKES = [
    Mistake(RETURNED, "sent on to the other clinic", solve(RETURNED, fax_send=send_also("+15550100201")), SENT_ON),
    Mistake(
        RETURNED, "sent to the other clinic only", solve(RETURNED, fax_send=send_with(to="+15550100201")), WENT_BACK
    ),
    Mistake(RETURNED, "sent back twice", solve(RETURNED, fax_send=send_again), WENT_BACK),
    Mistake(RETURNED, "no answer to the fax", solve(RETURNED, fax_send=send_with(in_reply_to=None)), WENT_BACK),
    Mistake(RETURNED, "pages left out", solve(RETURNED, fax_send=send_with(files=None)), ALL_PAGES),
    Mistake(RETURNED, "first page only", solve(RETURNED, fax_send=send_first_page), ALL_PAGES),
    Mistake(
        RETURNED,
        "our own number instead of theirs",
        solve(RETURNED, fax_send=send_words(lambda text: text.replace("0201", "0200"))),
        OUR_PAGE,
    ),
    Mistake(RETURNED, "instruction", solve(RETURNED, fax_send=add_words("Give 400 tablets at once.")), NO_INSTRUCTION),
    Mistake(
        RETURNED,
        "filed for a moment",
        do_also(RETURNED, file_and_delete),
        "Nothing of it was filed, not even for a moment",
    ),
    Mistake(
        RETURNED,
        "patient looked up",
        do_first(RETURNED, lambda sandboxes: sandboxes["ehr"].search("Patient", family="Winslow")),
        "Nobody was looked up in the chart",
    ),
    Mistake(RETURNED, "content kept", solve(RETURNED, fax_delete_content=do_nothing), IN_ORDER),
    Mistake(
        RETURNED,
        "content deleted at once",
        solve(RETURNED, fax_send=delete_content_early, fax_delete_content=do_nothing),
        IN_ORDER,
    ),
    Mistake(RETURNED, "file kept", solve(RETURNED, drop_delete=do_nothing), "We kept no copy on the file server"),
    Mistake(
        RETURNED,
        "file deleted first",
        do_first(RETURNED, delete_early),
        "Its file was kept until it had gone back",
    ),
    Mistake(
        RETURNED,
        "patient named in the Task",
        solve(RETURNED, ehr_create=create_with("Task", description="fax_7301 of Harrow Lane, Emma Winslow")),
        REPORTED,
    ),
    Mistake(
        RETURNED,
        "Task for the patient",
        solve(RETURNED, ehr_create=create_with("Task", **{"for": {"reference": "Patient/pat-0022"}})),
        REPORTED,
    ),
    Mistake(RETURNED, "no Task", solve(RETURNED, ehr_create=do_nothing), REPORTED),
    Mistake(RETURNED, "harm undone", do_also(RETURNED, delete_and_restore), OTHER_CHANGES),
    Mistake(
        RETURNED,
        "said to be filed",
        answer_with(RETURNED, {"faxes": [{"fax": "fax_7301", "done": "filed"}]}),
        "The answer says that it was returned",
    ),
]


def download_pdf(download: Verb, id: str, format: str = "pdf") -> Any:
    """Override `fax.download` so that it is a PDF file."""
    return download(id, "pdf")


def send_pictures(send: Verb, to: str, *, text: str, files: Mapping[str, bytes], **fields: Any) -> Any:
    """Override `fax.send` so that each page goes back as a picture."""
    pages = send.__self__.pages("fax_7301")  # type: ignore[attr-defined]
    return send(to, text=text, files={f"{number}.png": page for number, page in enumerate(pages)}, **fields)


def write_otherwise(text: str) -> str:
    """Return our page about a misdirected fax in other words."""
    return (
        "To: Harrow Lane Cardiology, medical records\n\nMisdirected fax HL-31877\n\nDear colleagues,\n\nwe are not "
        "the clinic that you meant: please send it to\n\n    Riverbank Family Clinic\n    Fax 555-010-0201\n\nKind regards"
    )


WRONG = [*RETURN_MISTAKES]
RIGHT = {
    "fax returned as PDF": (RETURNED, solve(RETURNED, fax_download=download_pdf)),
    "fax returned as pictures": (RETURNED, solve(RETURNED, fax_send=send_pictures)),
    "fax returned with other words": (RETURNED, solve(RETURNED, fax_send=send_words(write_otherwise))),
}
