"""Numbers of patients in the free text of a chart."""

import pytest

from clerkship.simulators.fhir.assertions.mentions import find_named_patients
from clerkship.text.identity import read_identity
from clerkship.text.index import MentionIndex

INDEX = MentionIndex(
    [
        read_identity("Patient/1000", {"name": [{"family": "Silva", "given": ["Alexandra"]}]}),
        read_identity("Patient/2000", {"name": [{"family": "Silva", "given": ["Alexander"]}]}),
        read_identity("Patient/3000", {"identifier": [{"value": "4711"}]}),
        read_identity("Patient/4000", {"telecom": [{"system": "phone", "value": "(555) 010-0123"}]}),
        read_identity("Patient/5000", {"telecom": [{"system": "phone", "value": "+1 555 010 0199"}]}),
    ]
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Take 1000 mg a day.", set()),
        ("Copied from patient 1000.", {"Patient/1000"}),
        ("See 4711.", {"Patient/3000"}),
        ("See Patient/3000.", {"Patient/3000"}),
        ("See 47112.", set()),
    ],
)
def test_short_id_of_a_patient_counts_only_with_a_word_before_it(text: str, named: set[str]) -> None:
    assert find_named_patients(INDEX, text) == named


def test_name_that_only_its_short_form_shares_with_the_own_patient_is_another() -> None:
    assert find_named_patients(INDEX, "Alexandra Silva called.", {"Patient/2000"}) == {"Patient/1000"}
    assert find_named_patients(INDEX, "Alex Silva called.", {"Patient/2000"}) == set()


@pytest.mark.parametrize("written", ["+15550100123", "1-555-010-0123", "(555) 010 0123", "555.010.0123"])
def test_phone_number_is_the_same_with_and_without_its_country_code(written: str) -> None:
    assert find_named_patients(INDEX, f"Call {written}.") == {"Patient/4000"}
    assert find_named_patients(INDEX, f"Call {written[:-2]}99.") == {"Patient/5000"}
    assert [each.key for each in INDEX.find_by_address(written)] == ["Patient/4000"]
