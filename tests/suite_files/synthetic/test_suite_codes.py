"""The codes of the chart suite match what its tasks say."""

import re
from pathlib import Path

import pytest

SUITE = Path(__file__).parents[3] / "suites" / "chart"
RXNORM = {
    "1801294": "potassium chloride 20 mEq",
    "198741": "magnesium oxide 400 mg",
    "308191": "amoxicillin 500 mg",
    "1649988": "doxycycline hyclate 100 mg",
}
"""By what a task calls it."""
UNITS = {"41653-7": "mg/dL", "2601-3": "mmol/L", "19123-9": "mg/dL", "2823-3": "mmol/L"}
"""By the property of the LOINC term: mass per volume, or moles per volume."""
TASKS = sorted((SUITE / "tasks").glob("*.yml"))
PUT = re.compile(
    r"code: \{coding: \[\{system: \"http://loinc.org\", code: ([\d-]+).*?valueQuantity: \{[^}]*code: ([^}]+)\}", re.S
)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.stem)
def test_drug_codes_have_the_right_display(task: Path) -> None:
    text = " ".join(task.read_text(encoding="utf-8").split())
    for code in re.findall(r"RxNorm (\d+)", text):
        before, _, after = text.partition(f"RxNorm {code}")
        assert RXNORM[code] in before[-80:] or RXNORM[code] in after[:60], code


def test_results_have_the_unit_of_their_code() -> None:
    pairs = [pair for task in TASKS for pair in PUT.findall(task.read_text(encoding="utf-8"))]
    assert len(pairs) >= 8
    assert [pair for pair in pairs if UNITS[pair[0]] != pair[1].strip("\"'")] == []


def test_solutions_order_the_codes_that_tasks_require() -> None:
    for solution in (SUITE / "solutions").glob("*.py"):
        for code in re.findall(r"\"code\": \"(\d{5,7})\"", solution.read_text(encoding="utf-8")):
            assert code in RXNORM, (solution.name, code)
