"""Compare a patient of the chart with the one in a message, by name, birth date and sex."""

import re
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from clerkship.formats.fhir.display_text import format_human_name, to_text
from clerkship.formats.fhir.resource import Resource
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.fields import Repetition, code_table, read_repetition, read_repetitions, read_text
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty
from clerkship.reactions.hl7_to_fhir.times import read_time
from clerkship.text.folding import remove_accents

_USES = code_table("0200")
"""HL7 table 0200, as far as FHIR has a use for it."""
_SEXES = {"M": "male", "F": "female"}
"""Values that contradict each other; any other may mean that the sex was not asked."""
_MIN_SIMILARITY = 0.8
"""How similar two given names must be to count as spellings of one name, such as Ana and Anna."""
_DAY = len("1965-03-15")


class Demographics(NamedTuple):
    """The name, birth date and sex in a PID or MRG."""

    names: list[dict[str, Any]]
    born: str
    """A date, perhaps partial; empty if there is none."""
    sex: str
    where: str
    """The fields that were read, for error messages: `MRG-7 says`."""

    def __str__(self) -> str:
        """Return a description for error messages: `Jane Roe, born 19700101`."""
        name = format_human_name(self.names[0])[:100] if self.names else ""
        born = f"born {self.born.replace('-', '')}" if self.born else ""
        return ", ".join(filter(None, (name, born)))


def read_demographics(filing: Filing, segment: Segment | None) -> Demographics:
    """Read the name, birth date and sex of a segment."""
    field = 7 if segment is not None and segment.name == "MRG" else 5
    names = [to_human_name(each) for each in read_repetitions(segment, field)]
    names = [name for name in names if name.get("family") or name.get("given")]
    if segment is None or segment.name != "PID":
        return Demographics(names, "", "", "MRG-7 says")
    born = read_time(read_repetition(segment, 7), filing.zone)
    sex = _SEXES.get(read_text(segment, 8).upper(), "")
    return Demographics(
        names,
        born.date if born is not None else "",
        sex,
        "PID-5, PID-7 and PID-8 say" if sex else "PID-5 and PID-7 say",
    )


class DemographicMatch(NamedTuple):
    """Which values of a patient and a message agree; None where one of them has no value."""

    name: bool | None
    given: bool | None
    born: bool | None
    is_day: bool
    """Whether the birth dates are complete and equal."""
    sex: bool | None

    @property
    def is_possible(self) -> bool:
        """Return whether both can be the same person.

        If the names differ, the birth dates must agree, and the reverse. If the sexes differ, given name and birth
        date must not differ, since twins share a birth date.
        """
        if self.name is False and not self.is_day:
            return False
        if self.born is False and not self.name:
            return False
        return self.sex is not False or (self.given is not False and self.born is not False)

    @property
    def is_certain(self) -> bool:
        """Return whether nothing contradicts and the name or the birth date agrees."""
        return False not in (self.name, self.born, self.sex) and bool(self.name or self.born)


def compare_demographics(patient: Resource, stated: Demographics) -> DemographicMatch:
    """Compare a patient of the chart with a message."""
    pairs = [(new, old) for new in stated.names for old in patient.get("name", ()) if isinstance(old, dict)]
    pairs = [pair for pair in pairs if pair[1].get("family") or pair[1].get("given")]
    birth_date, length = patient.get("birthDate", ""), min(len(stated.born), len(patient.get("birthDate", "")))
    is_same = stated.born[:length] == birth_date[:length]
    sex = patient.get("gender") if patient.get("gender") in _SEXES.values() else None
    return DemographicMatch(
        any(_is_alike(*pair) for pair in pairs) if pairs else None,
        any(_is_given_alike(*pair) for pair in pairs) if pairs else None,
        is_same if length else None,
        is_same and length == _DAY,
        stated.sex == sex if stated.sex and sex else None,
    )


def describe_patient(patient: Resource) -> str:
    """Return a description for error messages: `Ana Silva, born 1965-03-15, female`."""
    born = f"born {patient['birthDate']}" if "birthDate" in patient else ""
    return ", ".join(filter(None, (to_text(patient.get("name")), born, patient.get("gender", ""))))


def _is_alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether the family names agree, and the given names, if both have one, are equal or similar."""
    return _is_family_alike(one.get("family", ""), other.get("family", "")) and _is_given_alike(
        one, other, _MIN_SIMILARITY
    )


def _is_family_alike(one: str, other: str) -> bool:
    """Return whether the longer name contains all words of the shorter: `Silva` and `Silva-Costa`."""
    mine, theirs = ({_fold(each) for each in re.split(r"[\W_]+", name)} - {""} for name in (one, other))
    return mine <= theirs or theirs <= mine or _fold(one) == _fold(other)


def _is_given_alike(one: dict[str, Any], other: dict[str, Any], min_similarity: float = 1.0) -> bool:
    """Return whether given names agree; an initial or the second name is enough."""
    mine, theirs = ([_fold(each) for each in name.get("given", ())] for name in (one, other))
    firsts = [(mine[0], each) for each in theirs] + [(each, theirs[0]) for each in mine] if mine and theirs else []
    return not firsts or any(
        one.startswith(other) or other.startswith(one) or SequenceMatcher(None, one, other).ratio() >= min_similarity
        for one, other in firsts
    )


def _fold(name: str) -> str:
    return re.sub(r"[\W_]", "", remove_accents(name).casefold())


def to_human_name(repetition: Repetition) -> dict[str, Any]:
    """Convert an XPN to a HumanName."""
    given = [repetition.text(2), *repetition.text(3).split()]
    name = {
        "use": _USES.get(repetition.text(7).upper(), ""),
        "family": repetition.text(1, 1),
        "given": [each for each in given if each],
        "prefix": [repetition.text(5)] if repetition.text(5) else [],
        "suffix": [each for each in (repetition.text(4), repetition.text(6)) if each],
    }
    return drop_empty(name)
