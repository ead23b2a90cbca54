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
