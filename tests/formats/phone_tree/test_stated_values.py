"""Values that callers state to representatives."""

import pytest

from clerkship.formats.phone_tree.stated_values import find_values

NAMES = ("procedure_code", "service_date", "diagnosis_code")


@pytest.mark.parametrize(
    ("says", "code"),
    [
        ("G43.909", "G43909"),
        ("It is G 4 3 dot 9 0 9.", "G43909"),
        ("G as in golf, four three point nine zero nine", "G43909"),
        ("Sure, that's I10.", "I10"),
        ("M54.16, for the procedure code 72148", "M5416"),
        ("Migraine", None),
        ("72148", None),
    ],
)
def test_diagnosis_code_is_understood_when_it_is_asked_for(says: str, code: str | None) -> None:
    assert find_values(NAMES, says, "diagnosis_code").get("diagnosis_code") == code


def test_diagnosis_code_is_understood_by_its_label_beside_others() -> None:
    says = "It is procedure code 70551 on March 12, 2026, the diagnosis is migraine, G43.909."
    values = {"procedure_code": "70551", "service_date": "2026-03-12", "diagnosis_code": "G43909"}
    assert find_values(NAMES, says, "procedure_code", NAMES) == values
