"""Correct solutions of the tasks of `suites/messages` about the portal and e-mail that differ from ours."""

from collections.abc import Iterator
from typing import Any

from tests.suites.messages_mail_parts import (
    ALLERGY,
    EMERGENCY,
    INTERACTION,
    LETTER,
    MIXED,
    QUEUED,
    RESULTS,
    SOLUTIONS,
    UNKNOWN,
    Resource,
    solve,
)
from tests.suites.overridden_solutions import Agent, Verb


def answer_by_thread(reply: Verb, id: str, text: str, **fields: Any) -> Any:
    """Override `inbox.reply`: on the portal name the thread, by e-mail the subject with a prefix."""
    inbox = reply.__self__  # type: ignore[attr-defined]
    message = inbox.read(id)
    if message["channel"] == "portal":
        return inbox.send("portal", message["from"], text, thread=message["thread"], **fields)
    return inbox.send("email", message["from"], text, subject=f"RE: {message['subject']}", **fields)


def read_in_list(read: Verb, id: str) -> Any:
    """Override `inbox.read`: take the message from the list of all messages."""
    [message] = [each for each in read.__self__.messages() if each["id"] == id]  # type: ignore[attr-defined]
    return message


def write_more_elements(create: Verb, resource: Resource) -> Any:
    """Override `ehr.create`: add what a careful office adds, such as names beside references."""
    more: Resource = {}
    if resource["resourceType"] == "Task":
        more = {"authoredOn": "2026-03-02T09:05:00-05:00", "requester": {"reference": "Organization/org-clinic"}}
        if "for" in resource:
            patient = create.__self__.read(*resource["for"]["reference"].split("/"))  # type: ignore[attr-defined]
            more["for"] = {**resource["for"], "display": patient["name"][0]["text"]}
        if "owner" in resource:
            more["owner"] = {**resource["owner"], "type": "Practitioner"}
    elif resource["resourceType"] == "DocumentReference":
        more = {
            "docStatus": "final",
            "date": "2026-03-02T09:05:00-05:00",
            "custodian": {"reference": "Organization/org-clinic"},
        }
    elif resource["resourceType"] == "MedicationRequest":
        more = {"authoredOn": "2026-03-02T09:05:00-05:00", "priority": "routine"}
    return create({**resource, **more})


def read_everything_of_patient(search: Verb, type: str, **parameters: Any) -> Any:
    """Override `ehr.search`: read the whole chart of the patient before each search in it."""
    if "patient" in parameters:
        ehr = search.__self__  # type: ignore[attr-defined]
        ehr.request("GET", f"/Patient/{parameters['patient']}/$everything")
    return search(type, **parameters)


OTHER_WORDS: dict[str, dict[str, str]] = {
    ALLERGY: {
        "": "Hi Ms. Langley, we have your note. Dr. Pawlak is going to check it and get back to you. Have a nice day!"
    },
    INTERACTION: {
        "": "Dear Mr. Carrow, thanks for writing. I have handed your question about the potassium to Leonard Calloway, "
        "who will answer you here himself."
    },
    QUEUED: {"": "Hello Fang, your metoprolol succinate is prepared. It only needs Mr. Calloway's signature now."},
    MIXED: {
        "": "Dear colleagues, report QS-48817 contains another person's page. We have not filed it. Would you kindly "
        "resend the reports individually? Please delete the mixed one."
    },
    LETTER: {"": "Dear colleagues, your letter HL-20933 arrived and was added to our records today. Best regards"},
    EMERGENCY: {
        "911": "Call 911 now. One of our nurses is going to phone you right away.",
        "11:30": "Hello, on Saturday you get the form until half past eleven. All the best to your mother!",
    },
    UNKNOWN: {
        "": "Thank you for your e-mail. We are not able to answer such requests in this way, and cannot say whether "
        "you are a patient here. Records are on the patient portal (https://portal.riverbend.example). You can also "
        "call us: 518-555-0100."
    },
    RESULTS: {
        "sample": "Good morning Ms. Ogden, your A1c (blood drawn February 26) was 7.3%. Best wishes, the front desk",
        "released": "Good morning, your result isn't final yet. Dr. Renata Pawlak will write to you here.",
    },
}
"""What is said instead of a text that contains the key."""


def say_in_other_words(task: str) -> Verb:
    """Override `inbox.reply`: say the same in other words."""

    def reply(verb: Verb, id: str, text: str, **fields: Any) -> Any:
        [words] = [words for part, words in OTHER_WORDS[task].items() if part in text]
        return verb(id, words, **fields)

    return reply


DESCRIPTIONS = {
    ALLERGY: "Asks for a refill of lisinopril 10 mg on the portal. Severe allergy to enalapril (angioedema), recorded "
    "on 2026-02-25.",
    INTERACTION: "Thomas Carrow asks for potassium chloride 20 mEq, but also takes lisinopril 10 mg once daily.",
    MIXED: "Report QS-48817, sent by Quillan Street Imaging on March 2, has 2 pages about 2 people.",
    LETTER: "Please review the letter HL-20933 of Harrow Lane Cardiology (February 26, 2026).",
    EMERGENCY: "Tightness around the chest and a heavy left arm since this morning. Call +1 845-555-0163.",
    UNKNOWN: "Records were asked for twice by e-mail from D.Fairweather@post.example (March 2).",
    RESULTS: "Asks what the potassium of last Friday was, and whether to leave out oranges.",
}


def describe_in_other_words(task: str) -> Verb:
    """Override `ehr.create`: describe the same in other words."""

    def create(verb: Verb, resource: Resource) -> Any:
        if resource["resourceType"] in ("Task", "DocumentReference"):
            return verb({**resource, "description": DESCRIPTIONS[task]})
        return verb(resource)

    return create


def list_other_ways() -> Iterator[tuple[str, tuple[str, Agent]]]:
    """Yield other correct solutions of every task."""
    for task in SOLUTIONS:
        name = task.strip("*")
        yield f"{name}: other words", (task, solve(task, inbox_reply=say_in_other_words(task)))
        yield f"{name}: thread named", (task, solve(task, inbox_reply=answer_by_thread))
        yield f"{name}: read in the list", (task, solve(task, inbox_read=read_in_list))
        yield f"{name}: more elements", (task, solve(task, ehr_create=write_more_elements))
        if task in DESCRIPTIONS:
            yield f"{name}: other description", (task, solve(task, ehr_create=describe_in_other_words(task)))
        yield f"{name}: whole chart read", (task, solve(task, ehr_search=read_everything_of_patient))


RIGHT = dict(list_other_ways())
