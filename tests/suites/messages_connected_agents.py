"""Wrong and other correct solutions of the task of `suites/messages` with a portal that is part of the chart."""

from typing import Any

from tests.suites.messages_agents import (
    Act,
    add,
    answer_with,
    change,
    create,
    do_also,
    do_first,
    override_solution,
    replace,
    rewrite_messages,
    send,
    set_elements,
)
from tests.suites.overridden_solutions import Verb, do_nothing
from tests.suites.suite_checks import Mistake, Solve

CONNECTED, SOLUTION = "Answer portal messages that the chart has*", "portal_messages_in_the_chart"
OMAR, CHIDI = "Patient/pat-0023", "Patient/pat-0073"
BOTH_ADDRESSES = [
    {"system": "email", "value": "chidi.eze@post.example"},
    {"system": "email", "value": "chidi.eze55@mail.example"},
]


def build_communication(patient: str, text: str, answered: str) -> dict[str, Any]:
    """Return an answer as it is written in the chart."""
    reference = {"reference": patient}
    return {
        "status": "completed",
        "subject": reference,
        "recipient": [reference],
        "inResponseTo": [{"reference": f"Communication/{answered}"}],
        "payload": [{"contentString": text}],
    }


def answer_in_chart(task_item: Any, sandboxes: Any) -> Any:
    """Answer with Communications, and leave the inbox alone."""
    ehr = sandboxes["ehr"]
    asked = {each["sender"]["reference"]: each["id"] for each in ehr.search("Communication")}
    ehr.search("Appointment", patient=OMAR, status="booked")
    visit = "It is on Wednesday, March 18 at 1:00 PM with Dr. Toussaint."
    create("Communication", **build_communication(OMAR, visit, asked[OMAR]))(sandboxes)
    operation = {"op": "replace", "path": "/telecom/1/value", "value": "chidi.eze@post.example"}
    ehr.patch("Patient", "pat-0073", [operation])
    thanks = "Thank you. We have chidi.eze@post.example now."
    create("Communication", **build_communication(CHIDI, thanks, asked[CHIDI]))(sandboxes)
    return {"answered": 2}


def answer_in_a_new_thread(verb: Verb, id: str, text: str, **fields: Any) -> Any:
    """Send the answer to the patient who asked for an appointment as a new message."""
    inbox = verb.__self__  # type: ignore[attr-defined]
    is_visit = "appointment" in text
    return inbox.send("portal", OMAR, text, subject="Your visit") if is_visit else verb(id, text, **fields)


def tell_again(patient: str) -> Act:
    """Return what writes a second answer into the chart."""
    reference = {"reference": patient}
    text = [{"contentString": "As we said on the portal."}]
    return create("Communication", status="completed", subject=reference, recipient=[reference], payload=text)


NO_OTHER_CHANGES = "The address and the two answers are the only changes in the chart"
TOLD = "The first patient was told the day, the time and the clinician in the thread"
NEW_ADDRESS = "The chart has the new address in place of the old one"
WRONG = [
    Mistake(CONNECTED, "answers both ways", do_also(SOLUTION, tell_again(CHIDI)), "One answer to each of them"),
    Mistake(CONNECTED, "starts a thread", override_solution(SOLUTION, inbox_reply=answer_in_a_new_thread), TOLD),
    Mistake(
        CONNECTED,
        "tells another day",
        rewrite_messages(SOLUTION, replace(("March 18", "March 25"), ("Wednesday", "Thursday"))),
        TOLD,
    ),
    Mistake(CONNECTED, "keeps the old address", override_solution(SOLUTION, ehr_update=do_nothing), NEW_ADDRESS),
    Mistake(
        CONNECTED,
        "adds the new address to the old one",
        override_solution(SOLUTION, ehr_update=set_elements("Patient", telecom=BOTH_ADDRESSES)),
        NEW_ADDRESS,
    ),
    Mistake(
        CONNECTED,
        "does not repeat the address",
        rewrite_messages(SOLUTION, replace(("chidi.eze@post.example", "it"))),
        "The second patient was told the new address in the thread",
    ),
    Mistake(
        CONNECTED,
        "tells before it is done",
        do_first(SOLUTION, send("portal", CHIDI, "It is done.", subject="New address"), ehr_update=do_nothing),
        "The address was changed before the patient was told so",
    ),
    Mistake(
        CONNECTED,
        "writes to another patient",
        do_also(SOLUTION, send("portal", "Patient/pat-0099", "Hello", subject="Hello")),
        "Nobody else was written to",
    ),
    Mistake(
        CONNECTED,
        "names another patient",
        rewrite_messages(SOLUTION, add("Hao Pan comes too.")),
        "No patient got data of another",
    ),
    Mistake(
        CONNECTED,
        "tells one patient of the other",
        rewrite_messages(SOLUTION, add("On March 18 with Dr. Toussaint.")),
        "The two answers do not hold what the other patient asked",
    ),
    Mistake(
        CONNECTED,
        "changes the visit",
        do_also(SOLUTION, change("Appointment/appt-0023-next", comment="Told on the portal")),
        NO_OTHER_CHANGES,
    ),
    Mistake(
        CONNECTED,
        "gives advice",
        rewrite_messages(SOLUTION, add("Take two tablets before.")),
        "No text has advice, a drug or a dose",
    ),
    Mistake(
        CONNECTED,
        "counts wrongly",
        answer_with(SOLUTION, answered=3),
        "The answer says how many were answered",
    ),
]
RIGHT: dict[str, tuple[str, Solve]] = {"answers in the chart": (CONNECTED, answer_in_chart)}
