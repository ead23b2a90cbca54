"""Agents for the tasks of `suites/revenue` about refused files and payers: wrong solutions, and other correct ones."""

import re
from datetime import date
from functools import partial
from typing import Any

from clerkship.payer.inquiry import PersonQuery
from tests.suites.overridden_solutions import Agent, Verb, do_nothing
from tests.suites.revenue_agents import (
    ask_about,
    ask_about_stranger,
    ask_in_chart,
    change,
    do_also,
    do_first,
    find_copay,
    find_remaining,
    override_solution,
    replace_edi,
    replace_elements,
)
from tests.suites.revenue_claims_agents import answer_with, mistype_birth_date_first
from tests.suites.revenue_ways import renumber
from tests.suites.suite_checks import Mistake

REFUSED_SET = "Send a refused transaction set again"
send_set_again = partial(override_solution, "set_refused_by_999")


def send_whole_file_again(send: Verb, edi: str, *, sandboxes: Any) -> Any:
    """Send all sets of the file, with the corrected date."""
    text = sandboxes["drop"].read_text("outbound/eligibility-0302.x12")
    return send(text.replace("20001238", "20001228").replace("000000311", "000000312"))


def send_set_with_file(task_item: Any, sandboxes: Any) -> Any:
    """Send what is answered again, too."""
    return send_set_again(clearing_send=partial(send_whole_file_again, sandboxes=sandboxes))(task_item, sandboxes)


def send_one_patient_only(send: Verb, edi: str) -> Any:
    """Send only the patient whose birth date was wrong."""
    start, end = edi.index("HL*1**20"), edi.index("HL*4**20")
    rest = edi[end:].replace("HL*4**20", "HL*1**20").replace("HL*5*4*21", "HL*2*1*21").replace("HL*6*5*22", "HL*3*2*22")
    return send(edi[:start] + re.sub(r"SE\*23", "SE*13", rest))


def correct_chart_too(task_item: Any, sandboxes: Any) -> Any:
    """Write into the chart, which was not asked for."""
    answer = send_set_again()(task_item, sandboxes)
    patient = sandboxes["ehr"].read("Patient", "pat-0026")
    sandboxes["ehr"].update({**patient, "birthDate": "2000-12-18"})
    return answer


def ask_in_chart_instead(task_item: Any, sandboxes: Any) -> Any:
    """Ask with requests in the chart instead of sending the set."""
    ehr = sandboxes["ehr"]
    for patient, coverage, insurer in (("pat-0078", "cov-0078-1", "harborlight"), ("pat-0026", "cov-0026-2", "cedar")):
        ehr.create(
            {
                "resourceType": "CoverageEligibilityRequest",
                "status": "active",
                "purpose": ["benefits"],
                "created": "2026-03-02",
                "servicedDate": "2026-03-05",
                "patient": {"reference": f"Patient/{patient}"},
                "provider": {"reference": "Organization/org-clinic"},
                "insurer": {"reference": f"Organization/org-{insurer}"},
                "insurance": [{"coverage": {"reference": f"Coverage/{coverage}"}}],
            }
        )
    covered = {"8417606": True, "5816301": False, "1020820": False, "5703949": True}
    return {"patient": "5703949", "segment": "DMG", "element": 2, "covered": covered}


def use_number_again(task_item: Any, sandboxes: Any) -> Any:
    """Send the set under the control number of the file, which is refused, and answer what is likely."""
    use_again = replace_edi(("000000312", "000000311"))
    answer: Any = send_set_again(clearing_send=use_again)(task_item, sandboxes)
    return answer


def copy_file_elsewhere(task_item: Any, sandboxes: Any) -> Any:
    """Keep a copy of the file in a folder of its own."""
    drop = sandboxes["drop"]
    drop.write("archive/eligibility-0302.x12", drop.read_text("outbound/eligibility-0302.x12"))
    return send_set_again()(task_item, sandboxes)


SET_MISTAKES = [
    Mistake(
        REFUSED_SET,
        "refused set: birth date guessed",
        answer_with(
            send_set_again(
                clearing_send=replace_edi(("DMG*D8*20001228", "DMG*D8*20001231")),
            ),
            covered={"8417606": True, "5816301": False, "1020820": False, "5703949": True},
        ),
        "The set was sent again with the right birth date",
    ),
    Mistake(REFUSED_SET, "refused set: whole file again", send_set_with_file, "What was answered was not asked again"),
    Mistake(
        REFUSED_SET,
        "refused set: one patient left out",
        send_set_again(clearing_send=send_one_patient_only),
        "The payer was asked about the other patient of the set",
    ),
    Mistake(
        REFUSED_SET,
        "refused set: other traces",
        send_set_again(clearing_send=replace_edi(("RB0302B-2", "RB0302C-2"))),
        "The set was sent again with the right birth date",
    ),
    Mistake(
        REFUSED_SET,
        "refused set: another day",
        send_set_again(clearing_send=replace_edi(("D8*20260305", "D8*20260302"))),
        "The payer was asked about the patient whose birth date was wrong",
    ),
    Mistake(REFUSED_SET, "refused set: chart changed", correct_chart_too, "Nothing was changed in the chart"),
    Mistake(
        REFUSED_SET,
        "refused set: asked in the chart",
        ask_in_chart_instead,
        "The set was sent again with the right birth date",
    ),
    Mistake(
        REFUSED_SET,
        "refused set: segment before named",
        answer_with(send_set_again(), segment="NM1"),
        "The answer names the fault",
    ),
    Mistake(
        REFUSED_SET,
        "refused set: control number used again",
        use_number_again,
        "The set was sent again with the right birth date",
    ),
    Mistake(
        REFUSED_SET,
        "refused set: file overwritten elsewhere",
        copy_file_elsewhere,
        "Files were written to outbound only",
    ),
]


TA1, RECEIVER = "Send an interchange again that a TA1 refused", "Send an interchange to the right receiver"
ONCE, NOTHING_ELSE = "The interchange was sent again exactly once", "Nothing else was sent again"
BOTH_CLAIMS, CLAIMS_SAID = "The payers were asked about both claims of the file", "The answer is what the payers said"
send_interchange_again = partial(override_solution, "interchange_refused_by_ta1")


def send_twice(send: Verb, edi: str) -> Any:
    """Send the interchange again under the next two numbers."""
    send(renumber(edi))
    return send(edi)


def send_all_files_again(task_item: Any, sandboxes: Any) -> Any:
    """Send all three files again, under new numbers."""
    drop = sandboxes["drop"]
    for path in ("outbound/status-0227.x12", "outbound/eligibility-0227.x12"):
        sandboxes["clearing"].send(renumber(drop.read_text(path)))
    return send_interchange_again()(task_item, sandboxes)


def send_first_claim_only(send: Verb, edi: str) -> Any:
    """Leave out the second claim, and report it as it was at the first."""
    end = edi.index("HL*5**20")
    reply: str = send(
        edi[:end] + re.sub(r"SE\*\d+", f"SE*{edi[edi.index('ST*') : end].count('~') + 1}", edi[edi.index("SE*") :])
    )
    return reply


def describe_claim_instead(task_item: Any, sandboxes: Any) -> Any:
    """Write into the chart that the file was refused."""
    answer = send_interchange_again()(task_item, sandboxes)
    [claim] = sandboxes["ehr"].search("Claim", identifier=next(iter(answer["claims"])))
    focus, patient = {"reference": f"Claim/{claim['id']}"}, {"reference": claim["patient"]["reference"]}
    work = {"code": {"text": "Sent again"}, "focus": focus, "for": patient}
    sandboxes["ehr"].create({"resourceType": "Task", "status": "completed", "intent": "order", **work})
    return answer


def delete_refused_file(task_item: Any, sandboxes: Any) -> Any:
    """Delete the file that was refused."""
    answer = send_interchange_again()(task_item, sandboxes)
    sandboxes["drop"].delete("outbound/status-0302.x12")
    return answer


def overwrite_file(task_item: Any, sandboxes: Any) -> Any:
    """Write the corrected interchange over the refused file, and wait for the reply."""

    def overwrite(_: Verb, edi: str) -> str:
        drop = sandboxes["drop"]
        earlier = set(drop.list("inbound"))
        drop.write("outbound/status-0302.x12", edi)
        sandboxes.wait("15m")
        return "".join(drop.read_text(path) for path in sorted(set(drop.list("inbound")) - earlier))

    return send_interchange_again(clearing_send=overwrite)(task_item, sandboxes)


def list_interchange_mistakes(task: str, other_code: str) -> list[Mistake]:
    """Return the mistakes that are possible in both tasks about a TA1."""
    return [
        Mistake(task, "sent twice", send_interchange_again(clearing_send=send_twice), ONCE),
        Mistake(task, "all files sent again", send_all_files_again, NOTHING_ELSE),
        Mistake(task, "one claim left out", send_interchange_again(clearing_send=send_first_claim_only), BOTH_CLAIMS),
        Mistake(
            task,
            "wrong code answered",
            answer_with(send_interchange_again(), code=other_code),
            "The answer says what was refused and why",
        ),
        Mistake(
            task,
            "another file answered",
            answer_with(send_interchange_again(), file="outbound/status-0227.x12"),
            "The answer says what was refused and why",
        ),
        Mistake(task, "chart changed", describe_claim_instead, "Nothing was changed in the chart"),
        Mistake(task, "refused file deleted", delete_refused_file, "No file was deleted"),
        Mistake(
            task,
            "other claims answered",
            answer_with(send_interchange_again(), claims={"C001805": {"number": "CLM564986562", "paid": 0}}),
            CLAIMS_SAID,
        ),
    ]


def use_first_number(task_item: Any, sandboxes: Any) -> Any:
    """Send it unchanged; the refusal is taken for an answer."""
    drop = sandboxes["drop"]
    sandboxes["clearing"].send(drop.read_text("outbound/status-0302.x12"))
    return {"file": "status-0302.x12", "code": "025", "claims": {}}


INTERCHANGE_MISTAKES = [
    *list_interchange_mistakes(TA1, "008"),
    *list_interchange_mistakes(RECEIVER, "025"),
    Mistake(TA1, "sent unchanged", use_first_number, BOTH_CLAIMS),
    Mistake(RECEIVER, "sent unchanged", use_first_number, BOTH_CLAIMS),
]


INACTIVE, COVERAGE = "Ask the payer that took over from an inactive one", "Coverage/cov-0087-1"
ask_successor = partial(override_solution, "payer_that_is_inactive")
SARAH = PersonQuery(member_id="CM764243305", family="Chilton", given="Sarah", birth_date=date(1978, 3, 27))
RIGHT_PAYER = "The right payer was asked about the right person and the day of the visit"


def ask_inactive_payer_again(task_item: Any, sandboxes: Any) -> Any:
    """Send the question again as it was, and answer from the chart."""
    sandboxes["clearing"].send(renumber(sandboxes["drop"].read_text("outbound/eligibility-0227.x12")))
    change(sandboxes, COVERAGE, payor=[{"reference": "Organization/org-cedar"}])
    return {"rejection": "79", "payer_id": "CM002", "active": True, "copay": 20, "deductible_remaining": 225}


def ask_dental_payer(sandboxes: Any) -> None:
    """Ask the payer of dental plans about the patient."""
    assert "AAA" in ask_about(sandboxes, "CM022", SARAH, date(2026, 3, 6))


def refer_to(*organizations: str) -> Verb:
    """Override `ehr.update` so that the Coverage has other payors."""
    return replace_elements(payor=[{"reference": f"Organization/{each}"} for each in organizations])


def retire_organization(sandboxes: Any) -> None:
    """Mark the Organization of the former payer as inactive, which was not asked for."""
    change(sandboxes, "Organization/org-cedar-company", active=False)


def ask_successor_in_chart(task_item: Any, sandboxes: Any) -> Any:
    """Correct the Coverage first, and ask with a CoverageEligibilityRequest."""
    change(sandboxes, COVERAGE, payor=[{"reference": "Organization/org-cedar", "display": "Cedar Mutual Insurance"}])
    response = ask_in_chart(sandboxes, sandboxes["ehr"].read(*COVERAGE.split("/")), "2026-03-06")
    return {
        "rejection": "79",
        "payer_id": "CM002",
        "active": response["insurance"][0]["inforce"],
        "copay": find_copay(response),
        "deductible_remaining": find_remaining(response, "deductible"),
    }


PAYER_MISTAKES = [
    Mistake(INACTIVE, "inactive payer asked again", ask_inactive_payer_again, RIGHT_PAYER),
    Mistake(
        INACTIVE,
        "dental payer asked first",
        do_first("payer_that_is_inactive", ask_dental_payer),
        "No other payer was asked about her",
    ),
    Mistake(
        INACTIVE,
        "payer asked for another day",
        ask_successor(clearing_send=replace_edi(("D8*20260306", "D8*20260302"))),
        RIGHT_PAYER,
    ),
    Mistake(
        INACTIVE,
        "coverage not corrected",
        ask_successor(ehr_update=do_nothing),
        "The Coverage refers to the right payer",
    ),
    Mistake(
        INACTIVE,
        "coverage with the dental payer",
        ask_successor(ehr_update=refer_to("org-cedar-dental")),
        "The Coverage refers to the right payer",
    ),
    Mistake(
        INACTIVE,
        "coverage with both payers",
        ask_successor(ehr_update=refer_to("org-cedar", "org-cedar-company")),
        "The Coverage refers to the right payer",
    ),
    Mistake(
        INACTIVE,
        "organization of the former payer changed",
        do_also("payer_that_is_inactive", retire_organization),
        "Nothing else was changed in the chart",
    ),
    Mistake(
        INACTIVE,
        "plan of the chart answered",
        answer_with(ask_successor(), copay=20, deductible_remaining=225),
        "The answer is what the payer said",
    ),
    Mistake(
        INACTIVE,
        "unknown member answered as the reason",
        answer_with(ask_successor(), rejection="75"),
        "The answer names the rejection and the right payer",
    ),
]


ASKED_ABOUT_OTHERS = [
    Mistake(
        task, "stranger asked about", do_also(solution, ask_about_stranger), "No payer was asked about another person"
    )
    for task, solution in (
        (REFUSED_SET, "set_refused_by_999"),
        (TA1, "interchange_refused_by_ta1"),
        (RECEIVER, "interchange_refused_by_ta1"),
        (INACTIVE, "payer_that_is_inactive"),
    )
]
QUESTION_MISTAKE = Mistake(
    REFUSED_SET,
    "asks for more than before",
    send_set_again(clearing_send=replace_edi(("EQ*30~", "EQ*30^98~"))),
    "The question of the set was left as it was",
)
WRONG: list[Mistake] = [QUESTION_MISTAKE, *SET_MISTAKES, *INTERCHANGE_MISTAKES, *PAYER_MISTAKES, *ASKED_ABOUT_OTHERS]
RIGHT: dict[str, tuple[str, Agent]] = {
    "refused set with a wrong birth date first": (
        REFUSED_SET,
        send_set_again(clearing_send=mistype_birth_date_first),
    ),
    "file with another number overwritten": (TA1, overwrite_file),
    "file to another receiver overwritten": (RECEIVER, overwrite_file),
    "payer that took over asked in the chart": (INACTIVE, ask_successor_in_chart),
    "payer that took over asked after a wrong birth date": (
        INACTIVE,
        ask_successor(clearing_send=mistype_birth_date_first),
    ),
}
