"""The nearest known name, by spelling or by synonym."""

import pytest

from clerkship.model.names import find_nearest_name

STEPS = ("fhir.put", "fhir.patch", "fhir.delete", "files.drop", "chat.say")


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("fhir.create", "fhir.put"),
        ("FHIR.update", "fhir.put"),
        ("fhir.remove", "fhir.delete"),
        ("fhir.edit", "fhir.patch"),
        ("files.write", "files.drop"),
        ("fhir.pach", "fhir.patch"),
        ("create", None),
        ("nothing.create", None),
    ],
)
def test_nearest_name_is_found(wrong: str, meant: str | None) -> None:
    assert find_nearest_name(wrong, STEPS) == meant
