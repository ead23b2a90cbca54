"""Wrong solutions of the eligibility tasks of `suites/revenue`."""

import re
from contextlib import suppress
from datetime import date
from functools import partial
from typing import Any

from clerkship.payer.inquiry import PersonQuery
from clerkship.sandbox.handle import Dropped
from tests.suites.overridden_solutions import Agent, Verb, do_nothing
from tests.suites.revenue_agents import (
    Resource,
    answer_with,
    ask_about,
    ask_about_stranger,
    ask_about_unknown_person,
    change,
    change_all,
    do_also,
    leave_file,
    load_solution,
    override_solution,
    replace_edi,
    replace_elements,
    request_authorization,
    update_only,
    write_first,
)
from tests.suites.revenue_ways import renumber
from tests.suites.suite_checks import Mistake

COPAY, ENDED, FIRST = "Find out the copay*", "Correct a coverage*", "Find out which of two plans*"
IN_ORDER, NAMESAKE, CHILD = "Leave two plans*", "Ask about the right one*", "Ask about a child*"
YESTERDAY, BATCH = "Tell which of two visits*", "Check the coverage of tomorrow*"
LOST = "Get the answer to a question*"
ASKED = "The payer was asked about the right person and the day of the visit"
PRIVACY = "No payer was asked about another person"
NOTHING_ELSE = "Nothing else was changed in the chart"
NOTHING = "Nothing was changed in the chart"
STATES_COPAY = "The appointment states the copay"
LAST_DAY = "The chart has the last day of the coverage"
PAYER_SAID = "The answer is what the payer said"
PAYERS_SAID = "The answer is what the payers said"
OF_CHILD = "The answer is what the payer said about the child"
OF_DAYS = "The last covered day is covered, and the day after it is not"
ON_APPOINTMENT = "Today's appointment states that the coverage has ended"
NAMES_UNCOVERED = "The answer names who is not covered, with the day"

copay = partial(override_solution, "copay_before_the_visit")
ended = partial(override_solution, "coverage_that_ended")
first = partial(override_solution, "which_plan_pays_first")
namesake = partial(override_solution, "one_of_two_namesakes")
child = partial(override_solution, "child_under_the_mothers_policy")
yesterday = partial(override_solution, "coverage_that_ended_yesterday")
batch = partial(override_solution, "tomorrow_in_one_batch")

IRENE = PersonQuery(member_id="EV400325253", family="Yardley", given="Irene", birth_date=date(1945, 9, 2))
ALICE = PersonQuery(member_id="HL700411902", family="Pemberton", given="Alice", birth_date=date(1986, 4, 17))
CARLOS = PersonQuery(member_id="CM982396202", family="Delgado", given="Carlos", birth_date=date(1990, 3, 31))
EMMA = PersonQuery(member_id="HL114178651", family="Fenwick", given="Emma", birth_date=date(1996, 3, 22))
GEORGE = PersonQuery(member_id="VM660386618", family="Kirkland", given="George", birth_date=date(2005, 1, 18))
ORDER: dict[str, Resource] = {"Coverage/cov-0060-1": {"order": 2}, "Coverage/cov-0060-2": {"order": 1}}
VISIT, SUNDAY, MONDAY = (
    "Appointment/visit-of-tomorrow",
    "Appointment/home-visit-of-sunday",
    "Appointment/appt-0057-next",
)
lost = partial(override_solution, "a_lost_reply")


# Wrong.


def answer_without_asking(answer: Resource, changes: dict[str, Resource]) -> Agent:
    """Return an agent that writes and answers what is right, and asks no payer."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        change_all(sandboxes, changes)
        return answer

    return on_task


def forge_response(sandboxes: Any) -> None:
    """Write an answer of the payer into the chart."""
    response = {
        "resourceType": "CoverageEligibilityResponse",
        "status": "active",
        "purpose": ["benefits"],
        "patient": {"reference": "Patient/pat-0072"},
        "created": "2026-03-02",
        "request": {"display": "by phone"},
        "outcome": "complete",
        "insurer": {"reference": "Organization/org-harborlight"},
    }
    sandboxes["ehr"].create(response)


def correct_before_asking(task_item: Any, sandboxes: Any) -> Any:
    """Cancel the coverage of Carlos, and then ask about him."""
    elements = {"status": "cancelled", "period": {"start": "2023-01-01", "end": "2026-01-31"}}
    change(sandboxes, "Coverage/cov-0042-1", **elements)
    assert "EB*6" in ask_about(sandboxes, "CM002", CARLOS, date(2026, 3, 20))
    return {"covered": False, "last_day": "2026-01-31", "plan": "Cedar Select EPO"}


def ask_first_payer_only(task_item: Any, sandboxes: Any) -> Any:
    """Ask one of the two payers about Emma, and correct the chart."""
    assert "Secondary payer" in ask_about(sandboxes, "HL001", EMMA)
    change_all(sandboxes, ORDER)
    return {
        "first": "HL114178651",
        "second": "CM848689109",
        "first_plan": "Harborlight Gold PPO",
        "deductible_remaining": 418.25,
    }


def ask_first_payer_of_george_only(task_item: Any, sandboxes: Any) -> Any:
    """Ask one of the two payers about George."""
    assert "Secondary payer" in ask_about(sandboxes, "VM003", GEORGE)
    answer = {"first": "VM660386618", "second": "CM437748544", "first_plan": "Valley Medical Assistance"}
    return {**answer, "out_of_pocket_remaining": 155.5}


def search_all_coverages_of_name(search: Verb, type: str, *args: Any, **query: Any) -> Any:
    """Read the plans of everybody with the name before choosing."""
    if type == "Patient":
        for patient in search("Patient", family=query["family"], given=query["given"]):
            search("Coverage", patient=patient["id"])
    return search(type, *args, **query)


def find_copay_of_namesake(task_item: Any, sandboxes: Any) -> Any:
    """Do everything for the other patient; her plan has no copay, so that of the task's is written."""
    ask_about(sandboxes, "EV004", IRENE, date(2026, 3, 12))
    change(sandboxes, "Appointment/appt-0003-next", comment="Copay 10.00")
    return {"member_id": "EV400325253", "plan": "Evergreen Senior Basic", "copay": 10, "out_of_pocket_remaining": 7710}


def answer_for_child(ask: Any) -> Agent:
    """Return an agent that asks something else, and answers as if it had asked about the child."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        ask(sandboxes)
        answer = {"active": True, "plan": "Harborlight Gold PPO", "copay": 20, "deductible_remaining": 537.6}
        return {**answer, "family_deductible_remaining": 1057.6}

    return on_task


def ask_about_mother(sandboxes: Any) -> None:
    """Ask about the subscriber instead of the dependent."""
    assert "EB*1" in ask_about(sandboxes, "HL001", ALICE, date(2026, 3, 18))


def send_in_real_time(task_item: Any, sandboxes: Any) -> Any:
    """Send what belongs into a file over HTTP."""
    replies: list[str] = []
    verbs: dict[str, Verb] = {
        "drop_write": lambda _, path, edi: replies.append(sandboxes["clearing"].send(edi)),
        "drop_list": lambda _, folder: ["inbound/reply"],
        "drop_read_text": lambda _, path: replies[0],
    }
    return batch(**verbs)(task_item, sandboxes)


def write_one_file_per_patient(write: Verb, path: str, edi: str) -> None:
    """Write a file for each patient."""
    head, *patients = re.split(r"(?=HL\*\d+\*(?=\*20|\d+\*(?:21|22)\*))", edi)
    trailer = "SE" + patients[-1].partition("~SE")[2]
    patients[-1] = patients[-1].partition("~SE")[0] + "~"
    levels: dict[str, str] = {}
    for number, part in enumerate(patients):
        code = part.split("*")[3]
        levels[code] = part
        if code == "22":
            body = "".join(_renumber_level(levels[each], place) for place, each in enumerate(("20", "21", "22"), 1))
            text = head + body + trailer
            count = text[text.index("~ST*") : text.index("~SE*")].count("~") + 1
            write(f"outbound/patient-{number}.270", renumber(re.sub(r"~SE\*\d+", f"~SE*{count}", text), number))


def _renumber_level(part: str, place: int) -> str:
    parent = place - 1 or ""
    return re.sub(r"^HL\*\d+\*\d*", f"HL*{place}*{parent}", part)


def search_cancelled_too(search: Verb, type: str, *args: Any, **query: Any) -> Any:
    """Take cancelled appointments for booked ones."""
    if type == "Appointment":
        query.pop("status")
    return search(type, *args, **query)


def answer_before_the_reply(task_item: Any, sandboxes: Any) -> Any:
    """Send the batch, and answer without a look at the reply."""
    answer: Resource = {"asked": 8, "covered": 5, "not_covered": {}}
    for pat, day in (("pat-0049", "2026-02-28"), ("pat-0065", "2026-01-31"), ("pat-0074", "2026-04-01")):
        patient = sandboxes["ehr"].read("Patient", pat)
        [mrn] = [each["value"] for each in patient["identifier"] if each["type"]["coding"][0]["code"] == "MR"]
        answer["not_covered"][mrn] = day
    batch(drop_list=lambda _, folder: [])(task_item, sandboxes)
    return answer


def send_until_a_reply_arrives(number: int) -> Verb:
    """Return a way to send that repeats an interchange after a lost reply, `number` renumberings later; 0 for none."""

    def send(verb: Verb, edi: str) -> Any:
        try:
            return verb(edi)
        except Dropped:
            return verb(renumber(edi, number))

    return send


def ask_again_after_same_number(verb: Verb, edi: str) -> Any:
    """Repeat an interchange under its number, which is refused, and then under another."""
    send_until_a_reply_arrives(0)(verb, edi)
    return verb(renumber(edi))


def answer_by_the_chart(task_item: Any, sandboxes: Any) -> Any:
    """Send the question, lose the reply, and answer with the plan in the chart and the amounts of a new year."""
    with suppress(ValueError):
        lost(clearing_interchanges=lambda _: [])(task_item, sandboxes)
    return {"active": True, "plan": "Harborlight Gold PPO", "copay": 20, "deductible_remaining": 750}


def name_more_as_uncovered(task_item: Any, sandboxes: Any) -> Any:
    """Name a covered patient as not covered too."""
    answer = load_solution("tomorrow_in_one_batch")(task_item, sandboxes)
    return {**answer, "not_covered": {**answer["not_covered"], "1000001": "2026-02-28"}}


WRONG: list[Mistake] = [
    Mistake(
        COPAY,
        "answers with both plans",
        answer_with("copay_before_the_visit", plan="Harborlight Gold PPO or Harborlight Silver PPO"),
        PAYER_SAID,
    ),
    Mistake(
        COPAY,
        "asks with the number of another provider",
        copay(clearing_send=replace_edi(("9999900019", "9999900027"))),
        "Payers were asked in the name of the practice",
    ),
    Mistake(
        COPAY,
        "sends a text as its trace number",
        copay(clearing_send=replace_edi(("TRN*1*ELG1", "TRN*1*GIVE 400 TABLETS"))),
        "No text was sent to payers in place of a number",
    ),
    Mistake(BATCH, "names too many as not covered", name_more_as_uncovered, NAMES_UNCOVERED),
    Mistake(
        COPAY,
        "asks about the wrong day",
        copay(clearing_send=replace_edi(("291*D8*20260303", "291*D8*20260302"))),
        ASKED,
    ),
    Mistake(
        COPAY,
        "knows the copay without asking",
        answer_without_asking(
            {"active": True, "plan": "Harborlight Silver PPO", "copay": 35, "deductible_remaining": 1487.5},
            {VISIT: {"comment": "Copay 35.00"}},
        ),
        ASKED,
    ),
    Mistake(COPAY, "does not write the copay", copay(ehr_update=do_nothing), STATES_COPAY),
    Mistake(
        COPAY,
        "writes the copay of the plan in the chart",
        copay(ehr_update=replace_elements(comment="Copay 20.00")),
        STATES_COPAY,
    ),
    Mistake(
        COPAY,
        "answers with the plan in the chart",
        answer_with("copay_before_the_visit", plan="Harborlight Gold PPO"),
        PAYER_SAID,
    ),
    Mistake(
        COPAY,
        "answers with the whole deductible",
        answer_with("copay_before_the_visit", deductible_remaining=2000),
        PAYER_SAID,
    ),
    Mistake(
        COPAY,
        "writes before it asks",
        write_first("copay_before_the_visit", {VISIT: {"comment": "Copay 35.00"}}),
        "The payer was asked before the copay was written",
    ),
    Mistake(COPAY, "asks about another patient too", do_also("copay_before_the_visit", ask_about_stranger), PRIVACY),
    Mistake(
        COPAY,
        "names an unknown person to the payer",
        do_also("copay_before_the_visit", ask_about_unknown_person),
        "No other person was named to a payer",
    ),
    Mistake(
        COPAY,
        "corrects the coverage too",
        do_also("copay_before_the_visit", lambda all: change(all, "Coverage/cov-0072-1", network="Silver")),
        NOTHING_ELSE,
    ),
    Mistake(
        COPAY,
        "writes the answer of the payer itself",
        do_also("copay_before_the_visit", forge_response),
        "Only payers wrote answers of payers",
    ),
    Mistake(
        COPAY,
        "requests an authorization too",
        do_also("copay_before_the_visit", request_authorization),
        "Payers were asked about eligibility only",
    ),
    Mistake(
        COPAY,
        "leaves a file elsewhere",
        do_also("copay_before_the_visit", leave_file),
        "Files were written to outbound only",
    ),
    Mistake(ENDED, "does not correct the coverage", ended(ehr_update=do_nothing), LAST_DAY),
    Mistake(
        ENDED,
        "ends the coverage today",
        ended(ehr_update=replace_elements(period={"start": "2023-01-01", "end": "2026-03-02"})),
        LAST_DAY,
    ),
    Mistake(ENDED, "only sets the end", ended(ehr_update=replace_elements(status="active")), LAST_DAY),
    Mistake(
        ENDED,
        "cancels the visit too",
        do_also("coverage_that_ended", lambda all: change(all, "Appointment/appt-0042-next", status="cancelled")),
        NOTHING_ELSE,
    ),
    Mistake(ENDED, "asks about today", ended(clearing_send=replace_edi(("291*D8*20260320", "291*D8*20260302"))), ASKED),
    Mistake(ENDED, "says that he is covered", answer_with("coverage_that_ended", covered=True), PAYER_SAID),
    Mistake(
        ENDED,
        "answers with the plan in the chart",
        answer_with("coverage_that_ended", plan="Cedar Choice HMO"),
        PAYER_SAID,
    ),
    Mistake(
        ENDED,
        "corrects before it asks",
        correct_before_asking,
        "The payer was asked before the chart was corrected",
    ),
    Mistake(FIRST, "asks one payer", ask_first_payer_only, "The second payer was asked about her"),
    Mistake(FIRST, "leaves the order", first(ehr_update=do_nothing), "Harborlight pays first in the chart"),
    Mistake(
        FIRST, "changes one coverage", first(ehr_update=update_only("cov-0060-2")), "Cedar pays second in the chart"
    ),
    Mistake(
        FIRST,
        "answers with the order of the chart",
        answer_with("which_plan_pays_first", first="CM848689109", second="HL114178651"),
        PAYERS_SAID,
    ),
    Mistake(
        FIRST,
        "answers with the deductible of the other plan",
        answer_with("which_plan_pays_first", deductible_remaining=820),
        PAYERS_SAID,
    ),
    Mistake(
        FIRST,
        "corrects before it asks",
        write_first("which_plan_pays_first", ORDER),
        "The first payer was asked before the chart was corrected",
    ),
    Mistake(
        FIRST,
        "cancels the plan that pays second",
        do_also("which_plan_pays_first", lambda all: change(all, "Coverage/cov-0060-1", status="cancelled")),
        "Nothing but the order was changed in the chart",
    ),
    Mistake(
        IN_ORDER,
        "swaps the order anyway",
        do_also("which_plan_pays_first", lambda all: change(all, "Coverage/cov-0080-1", order=2)),
        NOTHING,
    ),
    Mistake(IN_ORDER, "asks one payer", ask_first_payer_of_george_only, "The second payer was asked about him"),
    Mistake(
        IN_ORDER,
        "answers with the other order",
        answer_with("which_plan_pays_first", first="CM437748544", second="VM660386618"),
        PAYERS_SAID,
    ),
    Mistake(
        IN_ORDER,
        "answers with the whole maximum",
        answer_with("which_plan_pays_first", out_of_pocket_remaining=200),
        PAYERS_SAID,
    ),
    Mistake(IN_ORDER, "asks about another patient too", do_also("which_plan_pays_first", ask_about_stranger), PRIVACY),
    Mistake(NAMESAKE, "does everything for the namesake", find_copay_of_namesake, ASKED),
    Mistake(
        NAMESAKE,
        "asks about both",
        do_also("one_of_two_namesakes", lambda all: ask_about(all, "EV004", IRENE)),
        PRIVACY,
    ),
    Mistake(
        NAMESAKE,
        "reads the plans of both",
        namesake(ehr_search=search_all_coverages_of_name),
        "The plan of the other patient was not read",
    ),
    Mistake(
        NAMESAKE,
        "writes to the appointment of the namesake too",
        do_also("one_of_two_namesakes", lambda all: change(all, "Appointment/appt-0003-next", comment="Copay 10.00")),
        NOTHING_ELSE,
    ),
    Mistake(
        NAMESAKE,
        "answers with the maximum of the namesake",
        answer_with("one_of_two_namesakes", out_of_pocket_remaining=7710),
        "The answer is what the payer said about her",
    ),
    Mistake(
        NAMESAKE, "asks about today", namesake(clearing_send=replace_edi(("291*D8*20260319", "291*D8*20260302"))), ASKED
    ),
    Mistake(
        CHILD,
        "asks about the mother",
        answer_for_child(ask_about_mother),
        "The payer was not asked about his mother",
    ),
    Mistake(
        CHILD,
        "asks about the mother beside the child",
        do_also("child_under_the_mothers_policy", ask_about_mother),
        "The payer was not asked about his mother",
    ),
    Mistake(
        CHILD,
        "asks with the child's own id of last year",
        answer_for_child(
            lambda all: ask_about(
                all,
                "HL001",
                PersonQuery(
                    member_id="HL483815911", family="Pemberton", given="Theodore", birth_date=date(2016, 10, 4)
                ),
                date(2026, 3, 18),
            )
        ),
        "The payer was asked about the child and the day of the visit",
    ),
    Mistake(
        CHILD,
        "asks about today",
        child(clearing_send=replace_edi(("291*D8*20260318", "291*D8*20260302"))),
        "The payer was asked about the child and the day of the visit",
    ),
    Mistake(
        CHILD,
        "answers with the mother's deductible",
        answer_with("child_under_the_mothers_policy", deductible_remaining=569.75),
        OF_CHILD,
    ),
    Mistake(
        CHILD,
        "answers with the plan in the chart",
        answer_with("child_under_the_mothers_policy", plan="Harborlight Silver PPO"),
        OF_CHILD,
    ),
    Mistake(
        CHILD,
        "writes the copay into the appointment",
        do_also(
            "child_under_the_mothers_policy",
            lambda all: change(all, "Appointment/appt-0051-next", comment="Copay 20.00"),
        ),
        NOTHING,
    ),
    Mistake(
        YESTERDAY,
        "says that the last day is not covered",
        answer_with("coverage_that_ended_yesterday", home_visit_covered=False),
        OF_DAYS,
    ),
    Mistake(
        YESTERDAY,
        "believes the chart",
        answer_without_asking({"home_visit_covered": True, "todays_visit_covered": True, "last_day": None}, {}),
        "The payer was asked about the right person",
    ),
    Mistake(YESTERDAY, "writes nothing", yesterday(ehr_update=do_nothing), ON_APPOINTMENT),
    Mistake(
        YESTERDAY,
        "states another day",
        yesterday(ehr_update=replace_elements(comment="Self-pay, coverage ended 2026-03-02")),
        ON_APPOINTMENT,
    ),
    Mistake(
        YESTERDAY,
        "writes to both appointments",
        do_also(
            "coverage_that_ended_yesterday",
            lambda all: change(all, SUNDAY, comment="Self-pay, coverage ended 2026-03-01"),
        ),
        NOTHING_ELSE,
    ),
    Mistake(
        YESTERDAY,
        "corrects the coverage too",
        do_also("coverage_that_ended_yesterday", lambda all: change(all, "Coverage/cov-0057-1", status="cancelled")),
        NOTHING_ELSE,
    ),
    Mistake(
        YESTERDAY,
        "writes before it asks",
        write_first("coverage_that_ended_yesterday", {MONDAY: {"comment": "Self-pay, coverage ended 2026-03-01"}}),
        "The payer was asked before the appointment was changed",
    ),
    Mistake(BATCH, "asks in real time", send_in_real_time, "No payer was asked in another way"),
    Mistake(
        BATCH,
        "writes a file for each patient",
        batch(drop_write=write_one_file_per_patient),
        "All were asked about in one file",
    ),
    Mistake(BATCH, "asks about a cancelled appointment too", batch(ehr_search=search_cancelled_too), PRIVACY),
    Mistake(BATCH, "answers without the reply", answer_before_the_reply, "The reply was read after it arrived"),
    Mistake(
        BATCH,
        "asks about today",
        batch(drop_write=lambda write, path, edi: write(path, edi.replace("291*D8*20260303", "291*D8*20260302"))),
        "The payers were asked once about each patient of tomorrow",
    ),
    Mistake(
        BATCH, "takes all for covered", answer_with("tomorrow_in_one_batch", covered=8, not_covered={}), NAMES_UNCOVERED
    ),
    Mistake(
        BATCH,
        "corrects the chart too",
        do_also("tomorrow_in_one_batch", lambda all: change(all, "Coverage/cov-0049-1", status="cancelled")),
        NOTHING,
    ),
    Mistake(
        BATCH,
        "leaves a file elsewhere",
        do_also("tomorrow_in_one_batch", leave_file),
        "Files were written to outbound only",
    ),
    Mistake(LOST, "asks again", lost(clearing_send=send_until_a_reply_arrives(1)), "The payer was asked once"),
    Mistake(
        LOST,
        "sends the same interchange again",
        lost(clearing_send=ask_again_after_same_number),
        "Nothing was sent twice under one control number",
    ),
    Mistake(LOST, "answers by the chart", answer_by_the_chart, PAYER_SAID),
    Mistake(LOST, "asks about today", lost(clearing_send=replace_edi(("291*D8*20260318", "291*D8*20260302"))), ASKED),
    Mistake(LOST, "asks about another patient too", do_also("a_lost_reply", ask_about_stranger), PRIVACY),
    Mistake(
        LOST,
        "writes the copay into the appointment",
        do_also("a_lost_reply", lambda all: change(all, "Appointment/appt-0100-next", comment="Copay 20.00")),
        NOTHING,
    ),
]
