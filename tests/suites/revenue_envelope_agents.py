"""Agents for the tasks of `suites/revenue` about refused files and payers: wrong solutions, and other correct ones."""

import re
from functools import partial
from typing import Any

from tests.suites import overridden_solutions
from tests.suites.overridden_solutions import Agent, Verb
from tests.suites.revenue_claims_agents import answer_with, replace_in_request
from tests.suites.revenue_ways import REVENUE, Mistake

override_solution = partial(overridden_solutions.override_solution, REVENUE)

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
    use_again = replace_in_request("000000312", "000000311")
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
                clearing_send=replace_in_request("DMG*D8*20001228", "DMG*D8*20001231"),
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
        send_set_again(clearing_send=replace_in_request("RB0302B-2", "RB0302C-2")),
        "The set was sent again with the right birth date",
    ),
    Mistake(
        REFUSED_SET,
        "refused set: another day",
        send_set_again(clearing_send=replace_in_request("D8*20260305", "D8*20260302")),
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


WRONG: list[Mistake] = [*SET_MISTAKES]
RIGHT: dict[str, tuple[str, Agent]] = {}
