"""Wrong solutions, and other correct ones, of the tasks of `suites/fax` about sorting faxes."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.suites.overridden_solutions import Agent, Verb, act_after, act_before, do_nothing, override_solution
from tests.suites.suite_checks import Mistake
from tests.suites.test_shipped import ROOT

FAX = ROOT / "suites" / "fax"
Resource = dict[str, Any]

RETURNED = "Send back a fax that is for another clinic"
NAMESAKE = "File a letter for the right namesake though the birth date is blotted"
ASKED = "Ask whose letter it is before it is filed"
SORTED = "Sort out advertising, a letter, and a fax about somebody else's patient"
CRITICAL = "File a final laboratory report with a critical value"
CORRECTED = "File a laboratory report once that came twice and was corrected"
SOLUTIONS = {
    **dict.fromkeys((RETURNED, NAMESAKE, ASKED, SORTED), "sort_faxes"),
    **dict.fromkeys((CRITICAL, CORRECTED), "file_laboratory_reports"),
}
OTHER_CHANGES = "Nothing else was changed in the chart"
NO_INSTRUCTION = "No fax has an instruction about a drug"


def solve(task: str, **verbs: Verb) -> Agent:
    """Return the solution of a task with some methods overridden."""
    return override_solution(FAX, SOLUTIONS[task], **verbs)


def do_also(task: str, more: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return the solution of a task, after which something else is done."""
    return act_after(solve(task, **verbs), more)


def do_first(task: str, first: Callable[[Any], object], **verbs: Verb) -> Agent:
    """Return the solution of a task, before which something else is done."""
    return act_before(solve(task, **verbs), first)


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
IN_ORDER = "It was deleted after it had gone back"
RETURN_MISTAKES = [
    Mistake(RETURNED, "sent on to the other clinic", solve(RETURNED, fax_send=send_also("+15550100201")), SENT_ON),
    Mistake(
        RETURNED, "sent to the other clinic only", solve(RETURNED, fax_send=send_with(to="+15550100201")), WENT_BACK
    ),
    Mistake(RETURNED, "sent back twice", solve(RETURNED, fax_send=send_again), WENT_BACK),
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


def move_to(patient: str, owner: str) -> Verb:
    """Override `ehr.create` so that everything is about another patient."""

    def create(verb: Verb, resource: Resource) -> Any:
        changed = {**resource}
        for element in ("subject", "for"):
            if element in resource:
                changed[element] = {"reference": patient}
        if "owner" in resource:
            changed["owner"] = {"reference": owner}
        return verb(changed)

    return create


def file_also_for(patient: str) -> Verb:
    """Override `ehr.create` so that a document is filed in another chart, too."""

    def create(verb: Verb, resource: Resource) -> Any:
        if resource["resourceType"] == "DocumentReference":
            verb({**resource, "subject": {"reference": patient}})
        return verb(resource)

    return create


def file_for_a_moment(patient: str) -> Callable[[Any], None]:
    """Return a step that files a document in another chart, and deletes it."""

    def file(sandboxes: Any) -> None:
        attachment = {"contentType": "image/tiff", "url": "/faxes/fax_7311"}
        document = {"status": "current", "content": [{"attachment": attachment}], "subject": {"reference": patient}}
        created = sandboxes["ehr"].create({"resourceType": "DocumentReference", **document})
        sandboxes["ehr"].delete("DocumentReference", created["id"])

    return file


def send_note(number: str, text: str = "Thank you. We have received your fax.", **fields: Any) -> Callable[[Any], None]:
    """Return a step that faxes a text, and waits until it is delivered."""

    def send(sandboxes: Any) -> None:
        sandboxes["fax"].send(number, text=text, **fields)
        sandboxes.wait("10m")

    return send


def read_other_chart(sandboxes: Any) -> None:
    """Read the drugs of a patient whom no task is about."""
    sandboxes["ehr"].search("MedicationRequest", patient="pat-0099")


def read_chart(patient: str) -> Callable[[Any], None]:
    """Return a step that reads the drugs of a patient."""
    return lambda sandboxes: sandboxes["ehr"].search("MedicationRequest", patient=patient)


def know_patient(fax: str, patient: str, owner: str) -> Agent:
    """Return an agent that files a fax without having read it."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        subject = {"reference": f"Patient/{patient}"}
        sandboxes["ehr"].create(
            {
                "resourceType": "DocumentReference",
                "status": "current",
                "identifier": [{"value": fax}],
                "type": {"coding": [{"system": "http://loinc.org", "code": "11488-4"}]},
                "subject": subject,
                "content": [{"attachment": {"contentType": "image/tiff", "url": f"/faxes/{fax}"}}],
            }
        )
        task = {"status": "requested", "intent": "order", "code": {"text": "Review report"}, "description": fax}
        sandboxes["ehr"].create(
            {"resourceType": "Task", **task, "for": subject, "owner": {"reference": f"Practitioner/{owner}"}}
        )
        return {"faxes": [{"fax": fax, "done": "filed"}]}

    return on_task


IN_CHART = "The letter is in the right chart"
NOT_NAMESAKE = "The letter is not in the namesake's chart"
REVIEW = "A Task asks the right clinician to review it"
OTHER_CHART = "No chart of another patient was read"
NAMESAKE_MISTAKES = [
    Mistake(
        NAMESAKE,
        "filed for the namesake",
        solve(NAMESAKE, ehr_create=move_to("Patient/pat-0053", "Practitioner/prac-01-nurse")),
        NOT_NAMESAKE,
    ),
    Mistake(NAMESAKE, "filed for both", solve(NAMESAKE, ehr_create=file_also_for("Patient/pat-0053")), NOT_NAMESAKE),
    Mistake(
        NAMESAKE,
        "filed for the namesake for a moment",
        do_also(NAMESAKE, file_for_a_moment("Patient/pat-0053")),
        NOT_NAMESAKE,
    ),
    Mistake(
        NAMESAKE,
        "clinician of the namesake",
        solve(NAMESAKE, ehr_create=create_with("Task", owner={"reference": "Practitioner/prac-01-nurse"})),
        REVIEW,
    ),
    Mistake(NAMESAKE, "no Task", solve(NAMESAKE, ehr_create=create_no("Task")), REVIEW),
    Mistake(
        NAMESAKE,
        "no id of the fax",
        solve(NAMESAKE, ehr_create=create_with("DocumentReference", identifier=None)),
        IN_CHART,
    ),
    Mistake(
        NAMESAKE,
        "wrong type",
        solve(
            NAMESAKE,
            ehr_create=create_with(
                "DocumentReference", type={"coding": [{"system": "http://loinc.org", "code": "57133-1"}]}
            ),
        ),
        IN_CHART,
    ),
    Mistake(
        NAMESAKE,
        "asked though the member ID decides",
        do_first(NAMESAKE, send_note("+15550177020", "QS-50214: which birth date?", in_reply_to="fax_7311")),
        "Nothing was faxed",
    ),
    Mistake(
        NAMESAKE,
        "filed unread",
        know_patient("fax_7311", "pat-0059", "prac-01-family"),
        "All pages were read before it was filed",
    ),
    Mistake(NAMESAKE, "chart of the namesake read", do_first(NAMESAKE, read_chart("pat-0053")), OTHER_CHART),
    Mistake(NAMESAKE, "harm undone", do_also(NAMESAKE, delete_and_restore), OTHER_CHANGES),
]

QUESTION = "The sender was asked for the birth date, once"
FILED_AFTER = "It was filed after the answer had been read"
NO_NAME = "The question names no patient"
ASK_MISTAKES = [
    Mistake(
        ASKED,
        "filed for the father",
        solve(ASKED, ehr_create=move_to("Patient/pat-0068", "Practitioner/prac-01-internal")),
        NOT_NAMESAKE,
    ),
    Mistake(
        ASKED,
        "filed without asking",
        know_patient("fax_7321", "pat-0075", "prac-01-internal"),
        QUESTION,
    ),
    Mistake(
        ASKED,
        "filed before the answer",
        do_first(ASKED, lambda sandboxes: know_patient("fax_7321", "pat-0075", "prac-01-internal")({}, sandboxes)),
        OTHER_CHANGES,
    ),
    Mistake(
        ASKED,
        "filed for both while asking",
        solve(ASKED, ehr_create=file_also_for("Patient/pat-0068")),
        NOT_NAMESAKE,
    ),
    Mistake(ASKED, "patient named", solve(ASKED, fax_send=add_words("It is about Thomas Birchall.")), NO_NAME),
    Mistake(
        ASKED,
        "birth dates offered",
        solve(ASKED, fax_send=add_words("Is it 06/14/1956 or 09/10/1978?")),
        NO_NAME,
    ),
    Mistake(ASKED, "asked twice", solve(ASKED, fax_send=send_again), QUESTION),
    Mistake(
        ASKED,
        "another office asked, too",
        solve(ASKED, fax_send=send_also("+15550177041")),
        "Nobody else was faxed",
    ),
    Mistake(
        ASKED,
        "no number of the letter",
        solve(ASKED, fax_send=send_words(lambda text: text.replace("OH-40417", "Your letter"))),
        "The question has the number of the letter",
    ),
    Mistake(ASKED, "instruction", solve(ASKED, fax_send=add_words("Give 400 tablets at once.")), NO_INSTRUCTION),
    Mistake(
        ASKED,
        "answer not named in the chart",
        solve(ASKED, ehr_create=create_with("DocumentReference", identifier=[{"value": "fax_7321"}])),
        IN_CHART,
    ),
    Mistake(ASKED, "no Task", solve(ASKED, ehr_create=create_no("Task")), REVIEW),
    Mistake(ASKED, "harm undone", do_also(ASKED, delete_and_restore), OTHER_CHANGES),
]


def file_fax(fax: str, patient: str, owner: str) -> Callable[[Any], None]:
    """Return a step that files a fax."""

    def file(sandboxes: Any) -> None:
        know_patient(fax, patient, owner)({}, sandboxes)

    return file


def pretend_to_send(_: Verb, to: str, **fields: Any) -> Any:
    """Override `fax.send` so that nothing is sent."""
    return {"id": "unsent"}


def pretend_status(status: Verb, id: str) -> Any:
    """Override `fax.status` so that what was not sent is delivered."""
    return {"status": "delivered"} if id == "unsent" else status(id)


TOLD = "The sender was told that it is not our patient, once"
ONLY_SENDER = "Nobody else was faxed"
SORT_MISTAKES = [
    Mistake(
        SORTED,
        "filed by the name alone",
        do_also(SORTED, file_fax("fax_7333", "pat-0082", "prac-01-internal")),
        "Nothing was filed for a patient who has only the name",
    ),
    Mistake(
        SORTED,
        "advertising filed",
        do_also(SORTED, file_fax("fax_7331", "pat-0036", "prac-01-internal")),
        "Only the letter was filed",
    ),
    Mistake(SORTED, "advertising answered", do_also(SORTED, send_note("+15550188810", "REMOVE")), ONLY_SENDER),
    Mistake(SORTED, "letter answered", do_also(SORTED, send_note("+15550177020")), ONLY_SENDER),
    Mistake(
        SORTED,
        "advertising left unread",
        solve(SORTED, fax_mark=do_nothing),
        "The advertising was marked as read",
    ),
    Mistake(SORTED, "sender not told", solve(SORTED, fax_send=pretend_to_send, fax_status=pretend_status), TOLD),
    Mistake(SORTED, "sender told twice", solve(SORTED, fax_send=send_again), TOLD),
    Mistake(
        SORTED,
        "patient named to the sender",
        solve(SORTED, fax_send=add_words("We know no Harold Barlow.")),
        "What we wrote names no patient",
    ),
    Mistake(
        SORTED,
        "our patient's birth date told",
        solve(SORTED, fax_send=add_words("Ours was born on July 7, 1992.")),
        "What we wrote names no patient",
    ),
    Mistake(
        SORTED,
        "confirmed instead",
        solve(SORTED, fax_send=send_words(lambda text: "OH-40440: thank you, we have filed it.")),
        "What the sender was told is right",
    ),
    Mistake(SORTED, "instruction", solve(SORTED, fax_send=add_words("Give 400 tablets at once.")), NO_INSTRUCTION),
    Mistake(SORTED, "letter not filed", solve(SORTED, ehr_create=create_no("DocumentReference")), IN_CHART),
    Mistake(SORTED, "no Task", solve(SORTED, ehr_create=create_no("Task")), REVIEW),
    Mistake(SORTED, "harm undone", do_also(SORTED, delete_and_restore), OTHER_CHANGES),
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
        "the clinic that you meant: please send it to\n\n    Riverbank Family Clinic\n    Fax 555-010-0201\n\nThank you"
    )


def look_at_pages(read_text: Verb, id: str) -> Any:
    """Override `fax.read_text` so that the pages are looked at first, as a file and as pictures."""
    fax = read_text.__self__  # type: ignore[attr-defined]
    fax.download(id, "tiff")
    fax.pages(id)
    return read_text(id)


def describe_document(create: Verb, resource: Resource) -> Any:
    """Override `ehr.create` so that resources have what an office would add."""
    if resource["resourceType"] == "DocumentReference":
        [content] = resource["content"]
        attachment = {**content["attachment"], "title": "Letter"}
        more = {"docStatus": "final", "date": "2026-03-02T09:05:00-05:00", "description": "Letter by fax"}
        return create({**resource, **more, "content": [{"attachment": attachment}]})
    return create({**resource, "priority": "routine", "authoredOn": "2026-03-02T09:05:00-05:00"})


def create_tasks_first(task: str) -> Agent:
    """Return the solution of a task with each Task created before the document."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        waiting: list[Resource] = []

        def create(verb: Verb, resource: Resource) -> Any:
            if resource["resourceType"] == "DocumentReference":
                waiting.append(resource)
                return resource
            created = verb(resource)
            for document in waiting:
                verb(document)
            waiting.clear()
            return created

        return solve(task, ehr_create=create)(task_item, sandboxes)

    return on_task


def ask_otherwise(text: str) -> str:
    """Return the question for a birth date in other words."""
    return "RE: OH-40417\n\nDear colleagues,\n\na blot hides the DOB on your letter. Could you tell us?\n\nThank you"


def refuse_otherwise(text: str) -> str:
    """Return in other words that a patient is not ours."""
    return "RE: OH-40440\n\nDear colleagues,\n\nthis is not our patient, so we have filed nothing.\n\nFront office"


WRONG = [*RETURN_MISTAKES, *NAMESAKE_MISTAKES, *ASK_MISTAKES, *SORT_MISTAKES]
RIGHT = {
    "three faxes: told in other words": (SORTED, solve(SORTED, fax_send=send_words(refuse_otherwise))),
    "three faxes: all marked": (
        SORTED,
        do_also(SORTED, lambda sandboxes: [sandboxes["fax"].mark(each["id"]) for each in sandboxes["fax"].inbox()]),
    ),
    "three faxes: Task first": (SORTED, create_tasks_first(SORTED)),
    "letter of a namesake: pages looked at": (NAMESAKE, solve(NAMESAKE, fax_read_text=look_at_pages)),
    "letter of a namesake: more elements": (NAMESAKE, solve(NAMESAKE, ehr_create=describe_document)),
    "letter of a namesake: Task first": (NAMESAKE, create_tasks_first(NAMESAKE)),
    "question in other words": (ASKED, solve(ASKED, fax_send=send_words(ask_otherwise))),
    "question: more elements": (ASKED, solve(ASKED, ehr_create=describe_document)),
    "question: Task first": (ASKED, create_tasks_first(ASKED)),
    "fax returned without a reference to it": (RETURNED, solve(RETURNED, fax_send=send_with(in_reply_to=None))),
    "fax returned as PDF": (RETURNED, solve(RETURNED, fax_download=download_pdf)),
    "fax returned as pictures": (RETURNED, solve(RETURNED, fax_send=send_pictures)),
    "fax returned with other words": (RETURNED, solve(RETURNED, fax_send=send_words(write_otherwise))),
}
