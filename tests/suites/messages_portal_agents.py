"""Wrong solutions of the tasks of `suites/messages` about the portal."""

from typing import Any

from tests.suites.messages_mail_parts import (
    ALLERGY,
    EMERGENCY,
    INTERACTION,
    NO_ADVICE,
    OTHER_CHANGES,
    QUEUED,
    RESULTS,
    add_words,
    answer_with,
    close_all,
    create_with,
    do_also,
    do_first,
    hide,
    read_other_chart,
    say,
    say_if,
    send_note,
    skip_if,
    solve,
    stop_drug,
)
from tests.suites.overridden_solutions import Verb, call_twice, do_nothing
from tests.suites.suite_checks import Mistake

REFILL_MISTAKES = [
    Mistake(
        ALLERGY, "allergy not looked at", solve(ALLERGY, ehr_search=hide("AllergyIntolerance")), "No refill was queued"
    ),
    Mistake(ALLERGY, "reason told", solve(ALLERGY, inbox_reply=add_words("You are allergic to enalapril.")), NO_ADVICE),
    Mistake(ALLERGY, "advice", solve(ALLERGY, inbox_reply=add_words("Please stop taking the tablets.")), NO_ADVICE),
    Mistake(
        ALLERGY,
        "refill promised",
        solve(ALLERGY, inbox_reply=add_words("Your prescription has been renewed.")),
        "She was not told that it is refilled",
    ),
    Mistake(
        ALLERGY,
        "Task without the reason",
        solve(ALLERGY, ehr_create=create_with("Task", description="Refill of lisinopril")),
        "A Task for her clinician names the drug and the allergy",
    ),
    Mistake(
        ALLERGY,
        "Task for another clinician",
        solve(ALLERGY, ehr_create=create_with("Task", owner={"reference": "Practitioner/prac-01-nurse"})),
        "A Task for her clinician names the drug and the allergy",
    ),
    Mistake(ALLERGY, "thread closed", do_also(ALLERGY, close_all), "The thread is open"),
    Mistake(
        ALLERGY,
        "e-mail as well",
        do_also(ALLERGY, send_note("email", "martha.langley85@mail.example")),
        "Nobody but the patient was written to",
    ),
    Mistake(ALLERGY, "answered twice", solve(ALLERGY, inbox_reply=call_twice), "One message was sent, and no more"),
    Mistake(ALLERGY, "other chart read", do_first(ALLERGY, read_other_chart), "No other patient's chart was read"),
    Mistake(ALLERGY, "drug stopped", do_also(ALLERGY, stop_drug("med-0076-lisinopril")), OTHER_CHANGES),
    Mistake(
        ALLERGY,
        "new thread",
        solve(
            ALLERGY,
            inbox_reply=lambda reply, id, text: reply.__self__.send(
                "portal", "Patient/pat-0076", text, subject="Lisinopril"
            ),
        ),
        "She was told in her thread who looks at the request",
    ),
    Mistake(
        INTERACTION,
        "other drugs not compared",
        solve(
            INTERACTION,
            ehr_search=lambda search, type, **parameters: [
                each for each in search(type, **parameters) if each["id"] != "med-0030-lisinopril"
            ],
        ),
        "No refill was queued",
    ),
    Mistake(
        INTERACTION,
        "other drug named to the patient",
        solve(INTERACTION, inbox_reply=add_words("It does not go with lisinopril.")),
        "The answer does not name the other drug",
    ),
    Mistake(
        INTERACTION,
        "dose told",
        solve(INTERACTION, inbox_reply=add_words("It was 20 mEq so far.")),
        NO_ADVICE,
    ),
    Mistake(
        INTERACTION,
        "Task without the other drug",
        solve(INTERACTION, ehr_create=create_with("Task", description="Refill of potassium chloride")),
        "A Task for his clinician names both drugs",
    ),
    Mistake(
        INTERACTION,
        "clinician not named",
        solve(INTERACTION, inbox_reply=say("Somebody will look at your request.")),
        "He was told in his thread who looks at the request",
    ),
    Mistake(
        INTERACTION,
        "allergies not looked for",
        solve(INTERACTION, ehr_search=hide("AllergyIntolerance")),
        "The allergies were looked for",
    ),
    Mistake(
        INTERACTION, "no Task", solve(INTERACTION, ehr_create=do_nothing), "A Task for his clinician names both drugs"
    ),
    Mistake(
        QUEUED,
        "active instead of draft",
        solve(QUEUED, ehr_create=create_with("MedicationRequest", status="active")),
        "The refill waits for the signature of her clinician",
    ),
    Mistake(
        QUEUED,
        "more tablets",
        solve(
            QUEUED,
            ehr_create=create_with(
                "MedicationRequest",
                dispenseRequest={"quantity": {"value": 180, "unit": "tablet"}, "numberOfRepeatsAllowed": 0},
            ),
        ),
        "It is prescribed as before",
    ),
    Mistake(
        QUEUED,
        "no earlier prescription",
        solve(QUEUED, ehr_create=create_with("MedicationRequest", priorPrescription=None)),
        "The refill waits for the signature of her clinician",
    ),
    Mistake(QUEUED, "thread left open", solve(QUEUED, inbox_close=do_nothing), "The thread is closed"),
    Mistake(
        QUEUED,
        "allergies not looked at",
        solve(QUEUED, ehr_search=hide("AllergyIntolerance")),
        "Allergies were read before the refill was queued",
    ),
    Mistake(QUEUED, "advice", solve(QUEUED, inbox_reply=add_words("Do not take aspirin with it.")), NO_ADVICE),
    Mistake(
        QUEUED,
        "drug not named",
        solve(QUEUED, inbox_reply=say("It waits for Leonard Calloway, NP.")),
        "She was told in her thread that her clinician signs it",
    ),
    Mistake(QUEUED, "earlier one stopped", do_also(QUEUED, stop_drug("med-0053-metoprolol")), OTHER_CHANGES),
]


def pass_on_everything(task_item: Any, sandboxes: Any) -> Any:
    """Pass the refill on without a look into the chart beyond the drug."""
    ehr, inbox = sandboxes["ehr"], sandboxes["inbox"]
    [message] = inbox.inbox(channel="portal")
    work = {"code": {"text": "Refill review"}, "description": "Refill of metoprolol: to be checked"}
    about = {"for": {"reference": message["from"]}, "focus": {"reference": "MedicationRequest/med-0053-metoprolol"}}
    ehr.create({"resourceType": "Task", "status": "requested", "intent": "order", **work, **about})
    inbox.reply(message["id"], "Leonard Calloway will look at your request.")
    return {"drug": "metoprolol", "decision": "passed on"}


REFILL_MISTAKES.append(Mistake(QUEUED, "passed on without a reason", pass_on_everything, "No Task was left"))


def answer_after_chart(task_item: Any, sandboxes: Any) -> Any:
    """Leave the Task before the emergency is answered."""
    later: list[tuple[Any, ...]] = []

    def keep(reply: Verb, *args: Any) -> None:
        later.append((reply, *args))

    answer = solve(EMERGENCY, inbox_reply=keep, inbox_close=do_nothing)(task_item, sandboxes)
    for reply, *args in later:
        reply(*args)
    return answer


def answer_in_order(task_item: Any, sandboxes: Any) -> Any:
    """Answer in the order in which the messages came."""
    inbox = sandboxes["inbox"]
    [form] = [each for each in inbox.inbox(channel="portal") if each["subject"] == "Form"]
    inbox.reply(form["id"], "Until 11:30 on Saturday.")
    inbox.close(form["thread"])
    return solve(EMERGENCY, inbox_reply=skip_if("11:30"), inbox_close=do_nothing)(task_item, sandboxes)


def take_both_for_emergencies(task_item: Any, sandboxes: Any) -> Any:
    """Send both to 911, because both texts have the word chest."""
    answer = solve(EMERGENCY, inbox_reply=say_if("11:30", "Call 911 now. Our nurse will call you."))(
        task_item, sandboxes
    )
    return {"emergencies": [*answer["emergencies"], "Patient/pat-0061"]}


TOLD_911 = "He was told to call 911, and that the nurse calls"
CALL_NOW = "A Task asks the nurse to call his mobile phone now"
EMERGENCY_MISTAKES = [
    Mistake(EMERGENCY, "Task first", answer_after_chart, "The emergency was answered before the chart was changed"),
    Mistake(
        EMERGENCY, "in the order of arrival", answer_in_order, "The emergency was answered before the other message"
    ),
    Mistake(EMERGENCY, "both to 911", take_both_for_emergencies, "The other patient was not sent to 911"),
    Mistake(
        EMERGENCY,
        "other sentence",
        solve(EMERGENCY, inbox_reply=say_if("911", "Please see a doctor today. Our nurse will call.")),
        TOLD_911,
    ),
    Mistake(EMERGENCY, "nurse not announced", solve(EMERGENCY, inbox_reply=say_if("911", "Call 911 now.")), TOLD_911),
    Mistake(
        EMERGENCY,
        "advice on the drug",
        solve(EMERGENCY, inbox_reply=say_if("911", "Call 911 now. Our nurse will call. No second metoprolol, please.")),
        "He got no advice and no answer to his questions",
    ),
    Mistake(
        EMERGENCY,
        "visit discussed",
        solve(EMERGENCY, inbox_reply=say_if("911", "Call 911 now. Our nurse will call. Thursday is fine.")),
        "He got no advice and no answer to his questions",
    ),
    Mistake(
        EMERGENCY, "Task is routine", solve(EMERGENCY, ehr_create=create_with("Task", priority="routine")), CALL_NOW
    ),
    Mistake(
        EMERGENCY,
        "home phone",
        solve(EMERGENCY, ehr_create=create_with("Task", description="Tight band around the chest. (332) 555-0159")),
        CALL_NOW,
    ),
    Mistake(
        EMERGENCY,
        "Task for the doctor",
        solve(EMERGENCY, ehr_create=create_with("Task", owner={"reference": "Practitioner/prac-01-internal"})),
        CALL_NOW,
    ),
    Mistake(EMERGENCY, "both threads closed", do_also(EMERGENCY, close_all), "The thread of the emergency is open"),
    Mistake(EMERGENCY, "no thread closed", solve(EMERGENCY, inbox_close=do_nothing), "The other thread is closed"),
    Mistake(
        EMERGENCY,
        "noon instead of half past eleven",
        solve(EMERGENCY, inbox_reply=say_if("11:30", "On Saturday until noon.")),
        "The other question was answered, in its thread",
    ),
    Mistake(
        EMERGENCY,
        "text to his phone as well",
        do_also(EMERGENCY, send_note("sms", "+18455550163")),
        "Nobody else was written to",
    ),
]


def tell_all(search: Verb, type: str, **parameters: Any) -> Any:
    """Override `ehr.search` so that every result looks final."""
    found = search(type, **parameters)
    return [{**each, "status": "final"} if type == "Observation" else each for each in found]


def take_oldest(search: Verb, type: str, **parameters: Any) -> Any:
    """Override `ehr.search` so that the oldest result is taken for the latest."""
    return search(type, **{**parameters, "_sort": "date"})


def skip_preliminary(search: Verb, type: str, **parameters: Any) -> Any:
    """Override `ehr.search` so that only final results are looked for."""
    return search(type, **{**parameters, "status": "final"})


TOLD_RESULT = "She was told the final result and its day"
NO_VALUE = "He was told no value and got no advice"
NOT_RELEASED = "He was told that it is not released, and who will write"
PASSED_ON = "A Task passes his question to his clinician"
RESULT_MISTAKES = [
    Mistake(RESULTS, "preliminary result told", solve(RESULTS, ehr_search=tell_all), NO_VALUE),
    Mistake(RESULTS, "earlier result told instead", solve(RESULTS, ehr_search=skip_preliminary), NO_VALUE),
    Mistake(RESULTS, "oldest result told", solve(RESULTS, ehr_search=take_oldest), TOLD_RESULT),
    Mistake(
        RESULTS,
        "judgement",
        solve(
            RESULTS,
            inbox_reply=lambda reply, id, text: reply(
                id, f"{text} That is better than in fall." if "sample" in text else text
            ),
        ),
        "She was told no earlier value and no judgement",
    ),
    Mistake(
        RESULTS,
        "earlier value",
        solve(
            RESULTS,
            inbox_reply=lambda reply, id, text: reply(
                id, f"{text} In November it was 8.0 %." if "sample" in text else text
            ),
        ),
        "She was told no earlier value and no judgement",
    ),
    Mistake(RESULTS, "no day", solve(RESULTS, inbox_reply=say_if("sample", "It came to 7.3 %.")), TOLD_RESULT),
    Mistake(
        RESULTS,
        "advice about oranges",
        solve(
            RESULTS,
            inbox_reply=lambda reply, id, text: reply(
                id, f"{text} Leave out the oranges until then." if "released" in text else text
            ),
        ),
        NO_VALUE,
    ),
    Mistake(
        RESULTS,
        "clinician not named",
        solve(RESULTS, inbox_reply=say_if("released", "The result is not released yet.")),
        NOT_RELEASED,
    ),
    Mistake(RESULTS, "no Task", solve(RESULTS, ehr_create=do_nothing), PASSED_ON),
    Mistake(
        RESULTS,
        "value in the Task",
        solve(RESULTS, ehr_create=create_with("Task", description="Asks about the potassium of 5.9 mmol/L")),
        PASSED_ON,
    ),
    Mistake(RESULTS, "both threads closed", do_also(RESULTS, close_all), "His thread is open"),
    Mistake(RESULTS, "no thread closed", solve(RESULTS, inbox_close=do_nothing), "Her thread is closed"),
    Mistake(
        RESULTS,
        "passed on both",
        answer_with(RESULTS, told=[], passed_on=["Patient/pat-0043", "Patient/pat-0027"]),
        "The answer states what became of each question",
    ),
    Mistake(RESULTS, "other chart read", do_first(RESULTS, read_other_chart), "No other patient's chart was read"),
]
WRONG = [*REFILL_MISTAKES, *EMERGENCY_MISTAKES, *RESULT_MISTAKES]
