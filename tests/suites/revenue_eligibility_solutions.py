"""Correct solutions of the eligibility tasks of `suites/revenue` that differ from the reference solutions."""

import io
import re
from typing import Any

from clerkship.sandbox.handle import Dropped
from tests.suites.feeds_agents import open_sftp
from tests.suites.overridden_solutions import Agent, Verb
from tests.suites.revenue_agents import (
    Resource,
    ask_in_chart,
    change,
    find_copay,
    find_plan,
    find_remaining,
    replace_edi,
)
from tests.suites.revenue_eligibility_agents import (
    BATCH,
    CHILD,
    COPAY,
    ENDED,
    FIRST,
    IN_ORDER,
    LOST,
    MONDAY,
    NAMESAKE,
    VISIT,
    YESTERDAY,
    batch,
    child,
    copay,
    ended,
    lost,
)
from tests.suites.revenue_ways import renumber


def find_patient(task_item: Any, sandboxes: Any) -> Resource:
    """Return the patient whose record number the task states."""
    [mrn] = re.findall(r"MRN (\d+)", task_item["instruction"])
    [patient] = sandboxes["ehr"].search("Patient", identifier=mrn)
    found: Resource = patient
    return found


def list_coverages(sandboxes: Any, patient: str) -> list[Resource]:
    """Return the active coverages of a patient."""
    coverages: list[Resource] = sandboxes["ehr"].search("Coverage", patient=patient, status="active")
    return coverages


def find_copay_in_chart(task_item: Any, sandboxes: Any) -> Any:
    """Ask for the copay with a CoverageEligibilityRequest."""
    [coverage] = list_coverages(sandboxes, "pat-0072")
    response = ask_in_chart(sandboxes, coverage, "2026-03-03")
    change(sandboxes, VISIT, comment=f"Copay {find_copay(response):.2f}")
    return {
        "active": response["insurance"][0]["inforce"],
        "plan": find_plan(response),
        "copay": find_copay(response),
        "deductible_remaining": find_remaining(response, "deductible"),
    }


def correct_coverage_in_chart(task_item: Any, sandboxes: Any) -> Any:
    """Ask about the visit in March with a CoverageEligibilityRequest."""
    [coverage] = list_coverages(sandboxes, "pat-0042")
    insurance = ask_in_chart(sandboxes, coverage, "2026-03-20")["insurance"][0]
    last_day = insurance["benefitPeriod"]["end"]
    period = {**coverage["period"], "end": last_day}
    operations = [
        {"op": "replace", "path": "/status", "value": "cancelled"},
        {"op": "add", "path": "/period/end", "value": period["end"]},
    ]
    sandboxes["ehr"].patch("Coverage", coverage["id"], operations)
    return {"covered": insurance["inforce"], "last_day": last_day, "plan": insurance["coverage"]["display"]}


def order_plans_in_chart(task_item: Any, sandboxes: Any) -> Any:
    """Ask both payers with CoverageEligibilityRequests."""
    patient = find_patient(task_item, sandboxes)
    coverages = list_coverages(sandboxes, patient["id"])
    responses = [ask_in_chart(sandboxes, coverage, "2026-03-02") for coverage in coverages]
    is_first = ["pays second" in response["disposition"] for response in responses]
    place = is_first.index(True)
    for coverage, pays_first in zip(coverages, is_first, strict=True):
        order = 1 if pays_first else 2
        if coverage["order"] != order:
            change(sandboxes, f"Coverage/{coverage['id']}", order=order)
    key, kind = ("deductible_remaining", "deductible")
    if patient["id"] == "pat-0080":
        key, kind = "out_of_pocket_remaining", "Out-of-pocket maximum"
    return {
        "first": coverages[place]["subscriberId"],
        "second": coverages[1 - place]["subscriberId"],
        "first_plan": find_plan(responses[place]),
        key: find_remaining(responses[place], kind),
    }


def find_copay_of_irene_in_chart(task_item: Any, sandboxes: Any) -> Any:
    """Ask about the right patient with a CoverageEligibilityRequest."""
    [patient] = sandboxes["ehr"].search("Patient", family="Yardley", birthdate="1945-08-29")
    [coverage] = list_coverages(sandboxes, patient["id"])
    response = ask_in_chart(sandboxes, coverage, "2026-03-19")
    change(sandboxes, "Appointment/appt-0009-next", comment=f"Copay ${find_copay(response):.0f}")
    return {
        "member_id": coverage["subscriberId"],
        "plan": find_plan(response),
        "copay": find_copay(response),
        "out_of_pocket_remaining": find_remaining(response, "Out-of-pocket maximum"),
    }


def ask_about_child_in_chart(task_item: Any, sandboxes: Any) -> Any:
    """Ask about the child with a CoverageEligibilityRequest."""
    [coverage] = list_coverages(sandboxes, "pat-0051")
    response = ask_in_chart(sandboxes, coverage, "2026-03-18")
    return {
        "active": response["insurance"][0]["inforce"],
        "plan": find_plan(response),
        "copay": find_copay(response),
        "deductible_remaining": find_remaining(response, "deductible"),
        "family_deductible_remaining": find_remaining(response, "deductible", "family"),
    }


def ask_about_both_days_in_chart(task_item: Any, sandboxes: Any) -> Any:
    """Ask about each day with a CoverageEligibilityRequest."""
    [coverage] = list_coverages(sandboxes, "pat-0057")
    days = [ask_in_chart(sandboxes, coverage, day)["insurance"][0] for day in ("2026-03-01", "2026-03-02")]
    last_day = days[1]["benefitPeriod"]["end"]
    change(sandboxes, MONDAY, comment=f"Self-pay, coverage ended {last_day}")
    return {"home_visit_covered": days[0]["inforce"], "todays_visit_covered": days[1]["inforce"], "last_day": last_day}


def ask_once_in_chart(task_item: Any, sandboxes: Any) -> Any:
    """Ask about the visit with a CoverageEligibilityRequest, which needs no connection to the clearinghouse."""
    [coverage] = list_coverages(sandboxes, "pat-0100")
    response = ask_in_chart(sandboxes, coverage, "2026-03-18")
    return {
        "active": response["insurance"][0]["inforce"],
        "plan": find_plan(response),
        "copay": find_copay(response),
        "deductible_remaining": find_remaining(response, "deductible"),
    }


def find_lost_reply_by_trace(task_item: Any, sandboxes: Any) -> Any:
    """Find the transaction that was received by its trace, and put an envelope around it."""
    clearing = sandboxes["clearing"]

    def send(verb: Verb, edi: str) -> Any:
        try:
            return verb(edi)
        except Dropped:
            [answer] = clearing.transactions("271", "ELG9")
            header = f"{edi.partition('GS*')[0]}GS*HB*CLEARING01*CLINIC01*20260302*0900*1*X*005010X279A1~"
            return f"{header}{clearing.transaction(answer['id'])['edi']}GE*1*1~IEA*1*000000009~"

    return lost(clearing_send=send)(task_item, sandboxes)


def ask_with_wrong_birth_date_first(send: Verb, edi: str) -> Any:
    """Mistype the birth date, which the payer rejects, and mend it."""
    mistyped = renumber(re.sub(r"DMG\*D8\*\d{4}", "DMG*D8*1904", edi))
    assert "AAA" in send(mistyped)
    return send(edi)


def ask_with_wrong_name_first(send: Verb, edi: str) -> Any:
    """Mistype the family name, which the payer rejects, and mend it."""
    assert "AAA" in send(renumber(re.sub(r"NM1\*IL\*1\*\w+", "NM1*IL*1*MISTYPED", edi)))
    return send(edi)


def ask_wrong_payer_first(send: Verb, edi: str) -> Any:
    """Send the question to a payer that does not exist, and mend it."""
    assert "AAA" in send(renumber(re.sub(r"\*PI\*\w+~", "*PI*ZZ999~", edi)))
    return send(edi)


def ask_as_subscriber_first(send: Verb, edi: str) -> Any:
    """Ask about the child with his mother's id as if it were his own, which the payer rejects, and mend it."""
    lines = [line for line in edi.split("~") if not line.startswith(("NM1*IL", "HL*4"))]
    text = "~".join(lines).replace("HL*3*2*22*1", "HL*3*2*22*0")
    text = text.replace("NM1*03*1*PEMBERTON*THEODORE", "NM1*IL*1*PEMBERTON*THEODORE****MI*HL700411902")
    count = text[text.index("~ST*") : text.index("~SE*")].count("~") + 1
    assert "AAA" in send(renumber(re.sub(r"~SE\*\d+", f"~SE*{count}", text)))
    return send(edi)


def write_under_temporary_name(task_item: Any, sandboxes: Any) -> Any:
    """Write the file under a temporary name, with a TA1 requested, and rename it when it is complete."""

    def write(verb: Verb, path: str, edi: str) -> None:
        verb(f"{path}.part", edi.replace("*0*T*:~", "*1*T*:~"))
        sandboxes["drop"].rename(f"{path}.part", path)

    return batch(drop_write=write)(task_item, sandboxes)


def exchange_over_sftp(task_item: Any, sandboxes: Any) -> Any:
    """Leave the batch and fetch the reply over SFTP."""
    with open_sftp(sandboxes["drop"].sftp) as client:
        verbs: dict[str, Verb] = {
            "drop_write": lambda _, path, text: client.putfo(io.BytesIO(text.encode()), path),
            "drop_list": lambda _, folder: [f"{folder}/{name}" for name in client.listdir(folder)],
            "drop_read_text": lambda _, path: client.open(path).read().decode(),
        }
        return batch(**verbs)(task_item, sandboxes)


def mend_batch(write: Verb, path: str, edi: str) -> None:
    """Write a file that is refused, and then the right one under a new control number."""
    write(f"{path}.first", re.sub(r"~SE\*\d+", "~SE*3", edi))
    write(path, renumber(edi))


RIGHT: dict[str, tuple[str, Agent]] = {
    "the copay, asked for in the chart": (COPAY, find_copay_in_chart),
    "the copay, after a mistyped birth date": (COPAY, copay(clearing_send=ask_with_wrong_birth_date_first)),
    "the copay, after a wrong payer": (COPAY, copay(clearing_send=ask_wrong_payer_first)),
    "the copay, by name and birth date": (COPAY, copay(clearing_send=replace_edi(("****MI*HL476822215~", "~")))),
    "an ended coverage, asked about in the chart": (ENDED, correct_coverage_in_chart),
    "an ended coverage, after a mistyped birth date": (ENDED, ended(clearing_send=ask_with_wrong_birth_date_first)),
    "an ended coverage, after a mistyped name": (ENDED, ended(clearing_send=ask_with_wrong_name_first)),
    "two plans, asked about in the chart": (FIRST, order_plans_in_chart),
    "two plans in order, asked about in the chart": (IN_ORDER, order_plans_in_chart),
    "the right namesake, asked about in the chart": (NAMESAKE, find_copay_of_irene_in_chart),
    "a child, asked about in the chart": (CHILD, ask_about_child_in_chart),
    "a child, asked about as a subscriber first": (CHILD, child(clearing_send=ask_as_subscriber_first)),
    "two days, asked about in the chart": (YESTERDAY, ask_about_both_days_in_chart),
    "a lost reply, found by its trace": (LOST, find_lost_reply_by_trace),
    "no lost reply, asked in the chart": (LOST, ask_once_in_chart),
    "a batch under a temporary name": (BATCH, write_under_temporary_name),
    "a batch over SFTP": (BATCH, exchange_over_sftp),
    "a batch after one that is refused": (BATCH, batch(drop_write=mend_batch)),
}
"""Each with the task that it solves."""
