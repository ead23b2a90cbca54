"""Find the patient of a message, and the clinicians, organizations and places that it names."""

import re
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from clerkship.formats.fhir.display_text import format_human_name, to_text
from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.fields import (
    Repetition,
    code_table,
    read_repetition,
    read_repetitions,
    read_text,
    read_time,
)
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty, escape_search_value
from clerkship.reactions.hl7_to_fhir.identifiers import Hl7Identifier, find_by_identifiers, parse_cx, parse_xcn
from clerkship.simulators.fhir.outcome import refusal
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


_MAX_LINKS = 20


def require_patient(filing: Filing, pid: Segment | None) -> Resource:
    """Find the patient of a message; refused if the chart does not have them."""
    patient = find_patient(filing, pid)
    if patient is None:
        raise build_unknown_patient_refusal(filing, pid)
    return patient


def build_unknown_patient_refusal(filing: Filing, pid: Segment | None, field: int = 3) -> Exception:
    """Build the refusal for a number that no patient has."""
    numbers = " or ".join(str(number) for number in _read_numbers(filing, pid, field))
    who = str(read_demographics(filing, pid))
    name = pid.name if pid is not None else "PID"
    return refusal(
        404,
        "not-found",
        f"no patient in this chart has the number {numbers} of {name}-{field}{f': {who}' if who else ''}",
    )


def find_patient(filing: Filing, pid: Segment | None, field: int = 3) -> Resource | None:
    """Find the patient with a number of PID-3 (or MRG-1), or None; refused if name, birth date or sex contradict."""
    numbers, demographics = _read_numbers(filing, pid, field), read_demographics(filing, pid)
    candidates: dict[str, list[Resource]] = {}
    for number in numbers:
        for each in _find_holders(filing, number, demographics):
            chain = _follow_merges(filing, each)
            candidates.setdefault(get_key(chain[-1]), []).extend(chain)
    if len(candidates) > 1:
        listing = " and ".join(str(number) for number in numbers)
        raise refusal(409, "multiple-matches", f"{listing} match several patients: {', '.join(sorted(candidates))}")
    records = next(iter(candidates.values()), None)
    if records is None:
        return None
    if not any(compare_demographics(each, demographics).is_possible for each in records):
        raise _build_mismatch_refusal(records[-1], demographics, f"{pid.name if pid is not None else 'PID'}-{field}")
    return records[-1]


def _read_numbers(filing: Filing, pid: Segment | None, field: int) -> list[Hl7Identifier]:
    parsed = [parse_cx(each, filing.authorities) for each in read_repetitions(pid, field)]
    numbers = [number for number in parsed if number.value]
    if not numbers:
        name = pid.name if pid is not None else "PID"
        raise refusal(422, "required", f"{name}-{field} (patient number) is missing")
    return numbers


def _find_holders(filing: Filing, number: Hl7Identifier, demographics: Demographics) -> list[Resource]:
    """Return the patients with a number. If its authority is unknown, name or birth date must confirm it."""
    patients = [each for each in filing.find_by_identifier("Patient", number.value) if number.is_in(each)]
    if not number.type:  # without a type, prefer patient numbers
        patients = [each for each in patients if number._replace(type="MR").is_in(each)] or patients
    if not patients and number.type in ("", "PI"):  # a PI may be the chart's own id
        by_id = filing.find_by_id("Patient", number.value)
        is_ours = by_id is not None and (
            not (number.namespace or number.system) or compare_demographics(by_id, demographics).is_certain
        )
        return [by_id] if by_id is not None and is_ours else []
    return [
        each
        for each in patients
        if not number.has_unknown_authority_in(each) or compare_demographics(each, demographics).is_certain
    ]


def _follow_merges(filing: Filing, patient: Resource) -> list[Resource]:
    """Return a patient and those that they were merged into, in order; the last is the current record."""
    chain = [patient]
    for _ in range(_MAX_LINKS):
        link = next((each for each in chain[-1].get("link", ()) if each.get("type") == "replaced-by"), None)
        key = link.get("other", {}).get("reference", "") if link is not None else ""
        other = filing.transaction.resource(key) if key.startswith("Patient/") else None
        if other is None:
            break
        chain.append(other)
    return chain


def _build_mismatch_refusal(patient: Resource, demographics: Demographics, where: str) -> Exception:
    """Build the refusal for a number that belongs to a patient of another name, birth date or sex."""
    named = f"{where} names {get_key(patient)}, who is {describe_patient(patient)}"
    stated = f"{demographics.where} {demographics}{f', {demographics.sex}' if demographics.sex else ''}"
    return refusal(409, "conflict", f"{named}; {stated}: they are different patients, so nothing was filed")


def has_current_number(filing: Filing, patient: Resource, pid: Segment) -> bool:
    """Return whether a PID has a current number of a patient, not only one from before a merge."""
    now = {**patient, "identifier": [each for each in patient.get("identifier", ()) if each.get("use") != "old"]}
    numbers = _read_numbers(filing, pid, 3)
    return any(number.value == patient["id"] or number.is_in(now) for number in numbers)


def refuse_duplicate(filing: Filing, pid: Segment) -> None:
    """Refuse to register a patient if one with the same name or birth date has the same number of another type."""
    demographics = read_demographics(filing, pid)
    for number in _read_numbers(filing, pid, 3):
        for each in filing.find_by_identifier("Patient", number.value):
            like = compare_demographics(each, demographics)
            if like.name or like.is_day:
                holder = f"{get_key(each)}, who is {describe_patient(each)}"
                detail = f"{holder}, has the number `{number.value[:60]}` of another type"
                detail += f", and PID-3 has it as {number} of {demographics}"
                raise refusal(409, "duplicate", f"{detail}: a second record of one person is not created")


def require_same_patient(patient: Resource, resource: Resource | None, label: str) -> Resource | None:
    """Return what a message names, if the chart has it; refused if it is another patient's."""
    if resource is not None and resource.get("subject", {}).get("reference") != get_key(patient):
        owner = resource.get("subject", {}).get("reference", "no patient")
        raise refusal(409, "conflict", f"{label} is {owner}'s {get_key(resource)}, and PID-3 names {get_key(patient)}")
    return resource


def build_subject(patient: Resource) -> dict[str, Any]:
    """Build a reference to a patient, with their name."""
    return drop_empty({"reference": get_key(patient), "display": to_text(patient.get("name"))})


def build_practitioner(filing: Filing, repetition: Repetition) -> dict[str, Any]:
    """Build a reference to the clinician of an XCN; by name alone if the chart does not have them."""
    number = parse_xcn(repetition, filing.authorities)
    known = find_by_identifiers(filing, "Practitioner", [number]) if number.value else None
    if known is not None:
        return drop_empty({"reference": get_key(known), "display": to_text(known.get("name"))})
    name = drop_empty({"family": repetition.text(2, 1), "given": [repetition.text(3)] if repetition.text(3) else []})
    display = format_human_name({**name, "prefix": [repetition.text(6)], "suffix": [repetition.text(7, 1)]})
    return drop_empty({"identifier": number.to_identifier() if number.value else {}, "display": display})


def build_practitioners(filing: Filing, segment: Segment | None, *fields: int) -> list[dict[str, Any]]:
    """Return references to the clinicians of the first field that names any."""
    for field in fields:
        references = [
            reference for each in read_repetitions(segment, field) if (reference := build_practitioner(filing, each))
        ]
        if references:
            return references
    return []


def build_organization(filing: Filing, name: str) -> dict[str, Any]:
    """Build a reference to an organization; by name alone if the chart does not have it."""
    known = filing.find("Organization", ("name:exact", escape_search_value(name)))
    return {"reference": get_key(known[0]), "display": name} if len(known) == 1 else {"display": name}


def build_location(filing: Filing, repetition: Repetition) -> dict[str, Any]:
    """Build a reference to the place of a PL, found by number, id or name; by name alone if it is not in the chart."""
    point = repetition.text(1, 1)
    known = find_by_identifiers(filing, "Location", [Hl7Identifier(point)]) if point else None
    if known is None and point:
        named = filing.find("Location", ("name:exact", escape_search_value(point)))
        known = named[0] if len(named) == 1 else None
    beds = [
        f"{word} {repetition.text(number, 1)}"
        for number, word in ((2, "room"), (3, "bed"))
        if repetition.text(number, 1)
    ]
    base = to_text(known.get("name")) if known is not None else point or repetition.text(9) or repetition.text(4, 1)
    display = ", ".join(filter(None, (base, *beds)))
    return drop_empty({"reference": get_key(known) if known is not None else "", "display": display})
