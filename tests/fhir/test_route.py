"""Whether a plain path can lead anywhere in a type."""

import pytest

from clerkship.fhir import choice
from clerkship.fhir.definitions import RESOURCE_TYPES, structure
from clerkship.fhir.route import misstep


@pytest.mark.parametrize(
    ("type", "path"),
    [
        ("Observation", "status"),
        ("Observation", "Observation.value.value"),
        ("Observation", "valueQuantity.value"),
        ("Observation", "component[1].valueString"),
        ("Patient", "name[0].given[1]"),
        ("Patient", "name.0.given"),
        ("Patient", "resourceType"),
        ("Patient", "meta.tag.code"),
        ("Patient", "_birthDate.extension.url"),
        ("Patient", "extension.value.coding.code"),
        ("Patient", "contained.anything.at.all"),
        ("Bundle", "entry.resource.name"),
        ("Questionnaire", "item.item.item.linkId"),
        ("Claim", "item.detail.subDetail.category"),
        ("Patient", "name.where(use = 'x').fam"),  # more than a plain path
    ],
)
def test_a_path_that_r4_has_is_right(type: str, path: str) -> None:
    assert misstep(type, path) == ""


@pytest.mark.parametrize(
    ("type", "path", "message"),
    [
        ("Observation", "statuss", "there is no element `statuss`; did you mean `status`?"),
        ("Observation", "code.coding.cod", "no element `cod`; did you mean `code`?"),
        ("Observation", "valueQuantity.valeu", "did you mean `value`?"),
        ("Observation", "valueMoney", "no element `valueMoney`"),
        ("Patient", "name.given.x", "below a value that has no elements"),
        ("Patient", "Observation.code", "is a path in a Observation, not in a Patient"),
    ],
)
def test_one_that_it_has_not_is_told_with_the_nearest(type: str, path: str, message: str) -> None:
    assert message in misstep(type, path)


def test_choices_are_those_of_r4() -> None:
    seen: set[str] = set()
    waiting = {*RESOURCE_TYPES, "Extension", "ElementDefinition", "Timing", "Dosage", "DataRequirement", "UsageContext"}
    names: set[str] = set()
    tails: set[str] = set()
    while waiting:
        type = waiting.pop()
        seen.add(type)
        for element in structure(type).elements:
            waiting |= {kind for kind in element.spellings.values() if "." in kind and kind not in seen}
            if element.choice:
                names.add(element.name)
                tails |= {spelt.removeprefix(element.name) for spelt in element.spellings}
    assert names <= choice.NAMES
    assert tails <= set(choice.DATATYPES)
    assert choice.NAMES - names <= {"age", "allowed", "author"}, "of datatypes that are not walked here"
