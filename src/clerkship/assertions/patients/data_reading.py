"""Read data, such as the payload of an event, for references to records and for values with their names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from clerkship.formats.fhir.resource import parse_reference

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.:]+")
MAX_REFERENCE = 300
_ID_ENDINGS = ("id", "reference", "key")
_GIVEN_NAMES = ("given", "givenname", "firstname", "first", "forename")
_FAMILY_NAMES = ("family", "familyname", "lastname", "last", "surname")
_PATIENT_WORDS = ("patient", "subject", "beneficiary")
"""Names of elements that refer to a patient by the id alone."""


class DataReading(NamedTuple):
    """What data says."""

    lines: tuple[str, ...]
    """Each value with its name before it: `mrn 4711`."""
    keys: frozenset[str]
    """The records that it is or refers to, such as `Patient/42`."""
    patients: frozenset[str]
    """The patients to whom the resources in it refer."""


def read_data(data: Any) -> DataReading:
    """Read data of any form: maps, lists, models, data classes and bytes."""
    lines: list[str] = []
    keys: set[str] = set()
    patients: set[str] = set()
    for name, value in _walk(data, ""):
        if isinstance(value, Mapping):
            key = _read_key(value)
            if key:
                keys.add(key)
            lines += read_name(value)
            if "resourceType" in value:
                patients.update(each for each in (key, *_list_references(value)) if each.startswith("Patient/"))
            continue
        text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        keys.update(_read_reference(name, text))
        lines.append(f"{_WORD_START.sub(' ', name)} {text}")
    return DataReading(tuple(lines), frozenset(keys), frozenset(patients))


def _walk(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield every map and every value that is neither map nor list, with the name that it has."""
    if isinstance(value, BaseModel):
        value = value.__dict__
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        yield name, value
        for key, each in value.items():
            yield from _walk(each, str(key))
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _walk(each, name)
    elif value is not None and not isinstance(value, bool):
        yield name, value


def _read_key(data: Mapping[Any, Any]) -> str:
    """Return the key of a resource, or of what an event names by `type` and `id`; empty for other data."""
    type, id = data.get("resourceType") or data.get("type"), data.get("id")
    return f"{type}/{id}" if isinstance(type, str) and isinstance(id, str) and type and id else ""


def read_name(data: Mapping[Any, Any]) -> list[str]:
    """Return the name of a person whose parts are values of their own, in one line."""
    values = {"".join(_WORD_START.split(str(name))).lower(): value for name, value in data.items()}
    given = next((values[name] for name in _GIVEN_NAMES if name in values), None)
    family = next((values[name] for name in _FAMILY_NAMES if name in values), None)
    words = " ".join(map(str, given)) if isinstance(given, list | tuple) else given
    return [f"{words} {family}"] if isinstance(words, str) and isinstance(family, str) else []


def _read_reference(name: str, text: str) -> Iterator[str]:
    """Yield the records that a value refers to: `Patient/42`, a URL that ends so, or `42` as a `patientId`."""
    if len(text) > MAX_REFERENCE:
        return
    target = parse_reference("/".join(text.partition("/_history/")[0].split("/")[-2:]))
    if target is not None:
        yield target.key
    elif name:
        words = [word.lower() for word in _WORD_START.split(name) if word]
        while len(words) > 1 and words[-1] in _ID_ENDINGS:
            words.pop()
        yield f"{''.join(map(str.capitalize, words))}/{text}"
        if words and words[-1] in _PATIENT_WORDS:
            yield f"Patient/{text}"


def _list_references(resource: Any) -> Iterable[str]:
    for name, value in _walk(resource, ""):
        if name == "reference" and isinstance(value, str):
            yield from _read_reference("", value)
