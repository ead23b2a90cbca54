"""The record of a criterion's `input_entity_id`: which texts, addresses and data of a run are about it.

See docs/decisions/0007-outcomes-and-grading.md.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic import BaseModel

from clerkship.assertions.patients.directory import build_directory
from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.chart import ChartView, list_chart_views
from clerkship.formats.fhir.resource import Resource, list_references, parse_reference, parse_resource
from clerkship.model.errors import InputError
from clerkship.model.frozen import PlacedText
from clerkship.text.folding import fold_text, fold_words
from clerkship.text.identity import read_identity
from clerkship.text.index import MentionIndex, MentionQuery, PatientMention, select_telling, tells_who
from clerkship.text.words import NUMBER_LABELS, SUFFIXES

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
        if len(text) <= MAX_REFERENCE:
            keys.update(_read_reference(name, text))
        lines.append(f"{_read_element(name).words} {text}")
    return DataReading(tuple(lines), frozenset(keys), frozenset(patients))


_MAX_STORED_NAME = 64
"""Characters of the name of an element that is stored, because an agent may send any."""
_PLAIN_TYPES = frozenset({str, int, float})


def _walk(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield every map and every value that is neither map nor list, with the name that it has."""
    if type(value) in _PLAIN_TYPES:
        yield name, value
        return
    value = _unpack(value)
    if isinstance(value, Mapping):
        yield name, value
        for key, each in value.items():
            if type(each) in _PLAIN_TYPES:  # most are: a generator less for each
                yield str(key), each
            else:
                yield from _walk(each, str(key))
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            if type(each) in _PLAIN_TYPES:
                yield name, each
            else:
                yield from _walk(each, name)
    elif value is not None and not isinstance(value, bool):
        yield name, value


def _unpack(value: Any) -> Any:
    """Return the fields of a model or a data class; the text of one that is a text in parts."""
    if isinstance(value, PlacedText):
        return value.text
    if isinstance(value, BaseModel):
        return value.__dict__
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value


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


class _ElementName(NamedTuple):
    """What the name of an element says."""

    words: str
    """The name with spaces between its words."""
    type: str
    """The type of record that a value of this name may be the id of: `Patient` for `patientId`."""
    is_patient: bool


def _read_element(name: str) -> _ElementName:
    return _split_element(name) if len(name) <= _MAX_STORED_NAME else _split_element.__wrapped__(name)


@lru_cache(maxsize=4096)
def _split_element(name: str) -> _ElementName:
    words = [word.lower() for word in _WORD_START.split(name) if word]
    while len(words) > 1 and words[-1] in _ID_ENDINGS:
        words.pop()
    type = "".join(map(str.capitalize, words))
    return _ElementName(_WORD_START.sub(" ", name), type, bool(words) and words[-1] in _PATIENT_WORDS)


def _read_reference(name: str, text: str) -> Iterator[str]:
    """Yield the records that a value refers to: `Patient/42`, a URL that ends so, or `42` as a `patientId`."""
    target = parse_reference("/".join(text.partition("/_history/")[0].split("/")[-2:])) if "/" in text else None
    if target is not None:
        yield target.key
    elif name:
        element = _read_element(name)
        yield f"{element.type}/{text}"
        if element.is_patient:
            yield f"Patient/{text}"


def _list_references(resource: Any) -> Iterable[str]:
    for name, value in _walk(resource, ""):
        if name == "reference" and isinstance(value, str) and len(value) <= MAX_REFERENCE:
            yield from _read_reference("", value)


PERSON_KINDS = ("Patient", "Person", "RelatedPerson", "Practitioner")
_FULL_NAMES = ("name", "fullname", "patientname")
_BIRTH_NAMES = ("birthdate", "dob", "dateofbirth", "born")
_PHONE_WORDS = frozenset({"phone", "mobile", "cell", "fax", "sms", "tel", "telephone"})
_STREET_NAMES = ("address", "street", "addressline")


def to_resource(record: Mapping[str, Any], type: str | None = None) -> Resource:
    """Return a record as a resource; a FHIR resource is returned as it is.

    Of another record, `name`, `birthdate`, phone numbers, e-mail addresses, `address` and numbers such as `mrn` count.
    """
    if "resourceType" in record:
        return dict(record)
    resource: dict[str, Any] = {"resourceType": type or str(record.get("type") or "Record")}
    lists: dict[str, list[dict[str, Any]]] = {"name": [], "telecom": [], "address": [], "identifier": []}
    lists["name"] += map(_split_name, read_name(record))
    for key, value in record.items():
        text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
        words = fold_words(str(key).replace("_", " "))
        plain = "".join(words)
        if not text or key == "type":
            continue
        if key == "id":
            resource["id"] = text
        elif plain in _FULL_NAMES:
            lists["name"].append(_split_name(text))
        elif plain in _BIRTH_NAMES:
            resource["birthDate"] = text
        elif "@" in text:
            lists["telecom"].append({"system": "email", "value": text})
        elif _PHONE_WORDS & set(words):
            lists["telecom"].append({"system": "phone", "value": text})
        elif plain in _STREET_NAMES:
            lists["address"].append({"line": [text.partition(",")[0]]})
        elif NUMBER_LABELS & set(words):
            lists["identifier"].append({"value": text})
    return resource | lists


def _split_name(text: str) -> dict[str, Any]:
    """Return the parts of `Ana Rivera` or `Rivera, Ana`."""
    family, comma, given = text.partition(",")
    if comma:
        return {"text": text, "family": family.strip(), "given": given.split()}
    words = [word for word in text.split() if word.lower().strip(".") not in SUFFIXES]
    return {"text": text, "family": words[-1] if words else "", "given": words[:-1]}


MAX_CHARACTERS = 2_000_000
"""Characters of one item that are searched. A longer one is about no record; a criterion that forbids it counts it."""
_APART = "\n" + ";" * 8 + "\n"
"""What stands between the texts of an item, so that no name or number is read across them."""
_MERGED_ELEMENTS = ("name", "telecom", "address", "identifier")


def join_texts(texts: Iterable[str]) -> str:
    """Return texts in one, so far apart that no name or number is read across them."""
    return _APART.join(filter(None, texts))


class RecordSubject:
    """The record that a criterion is about, and how it is recognized."""

    def __init__(self, evidence: Evidence, name: str) -> None:
        entity = next((each for each in evidence.task.entities if each.id == name), None)
        written = evidence.entities.get(name)
        if not written:
            raise InputError.of(f"the entity `{name}` has no record", hint="remove `input_entity_id`")
        record = to_resource(written, entity.type if entity is not None else None)
        self.name, self.type = name, str(record["resourceType"])
        self.key = f"{self.type}/{record.get('id', '')}"
        self._charts = list_chart_views(evidence.states)
        self._owned: dict[str, bool] = {}
        self._reference = re.compile(rf"(?<![\w.-]){re.escape(self.key)}(?![\w-]|\.\w)") if record.get("id") else None
        self._now = evidence.now.date() if evidence.now is not None else None
        directory = evidence.cached(build_directory)
        known = directory.people.get(self.key)
        current = (chart.resource(self.key) for chart in self._charts)
        numbers = [*(known.numbers if known is not None else ()), str(record.get("subscriberId") or "")]
        self.identity = read_identity(self.key, _merge(record, *filter(None, current)), numbers)
        others = directory.find_sharers(self.identity)
        others += MentionIndex(_list_other_entities(evidence, self.key)).find_sharers(self.identity)
        self._index = MentionIndex((*others, self.identity) if self.type in PERSON_KINDS else (self.identity,))

    def __str__(self) -> str:
        return f"{self.name} ({self.key})"

    def concerns(
        self,
        texts: Iterable[str] = (),
        addresses: Iterable[str] = (),
        data: Any = None,
        *,
        is_spoken: bool = False,
        forbids: bool = False,
    ) -> bool:
        """Return whether an item with such texts, addresses and data is about the record.

        It is if it refers to the record, or to one that refers to the record; or if it has what identifies the record.
        With `forbids`, for criteria that pass without such an item, it is enough that it may be about the record.
        """
        reading = read_data(data)
        if any(self._owns(key) for key in reading.keys):
            return True
        if self.type == "Patient" and reading.patients and not forbids:
            return False  # the resources say whose they are
        text = join_texts((*texts, *addresses, *reading.lines))
        if self._reference is not None and self._reference.search(text):
            return True
        return forbids if len(text) > MAX_CHARACTERS else self._is_meant(text, is_spoken, forbids)

    def _owns(self, key: str) -> bool:
        """Return whether a key is that of the record, or of a resource of a chart that refers to it."""
        if key not in self._owned:
            resources = (_find_resource(chart, key) for chart in self._charts)
            self._owned[key] = key == self.key or any(
                reference["reference"].partition("/_history/")[0] == self.key
                for resource in resources
                for _, reference in list_references(resource)
            )
        return self._owned[key]

    def _is_meant(self, text: str, is_spoken: bool, forbids: bool) -> bool:
        query = MentionQuery(only=frozenset(self._index.people), now=self._now, is_spoken=is_spoken)
        mentions = self._index.find_mentions(fold_text(text), query)
        own = mentions.get(self.key, ())
        telling = list(select_telling(own))
        others = [facts for key, facts in mentions.items() if key != self.key]
        if forbids:
            return bool(telling) and not any(covers(each, own) and not covers(own, each) for each in others)
        is_enough = tells_who(own)
        if not is_enough and is_spoken:  # a caller is asked for one fact after the other
            is_enough = len({each.kind for each in telling}) > 1
        return is_enough and not any(covers(each, own) for each in others)


def find_subject(evidence: Evidence) -> RecordSubject | None:
    """Return the record that the current criterion is about; None if it is about none."""
    if evidence.subject is None:
        return None
    subjects = evidence.cached(_open_subjects)
    if evidence.subject not in subjects:
        subjects[evidence.subject] = RecordSubject(evidence, evidence.subject)
    return subjects[evidence.subject]


def _open_subjects(evidence: Evidence) -> dict[str, RecordSubject]:
    return {}


def _list_other_entities(evidence: Evidence, key: str) -> Iterable[Any]:
    """Yield what identifies the other people among the entities of the task."""
    types = {each.id: each.type for each in evidence.task.entities}
    for name, written in evidence.entities.items():
        record = to_resource(written, types.get(name))
        if record["resourceType"] in PERSON_KINDS and f"{record['resourceType']}/{record.get('id', '')}" != key:
            yield read_identity(f"{record['resourceType']}/{record.get('id') or name}", record)


def _merge(record: Mapping[str, Any], *versions: Resource) -> Resource:
    """Return a record with the names, addresses and numbers that its current versions have besides."""
    merged = dict(record)
    for name in _MERGED_ELEMENTS:
        lists = [each[name] for each in (record, *versions) if isinstance(each.get(name), list)]
        merged[name] = [item for items in lists for item in items]
    return merged


def _find_resource(chart: ChartView, key: str) -> Resource | None:
    """Return the current version of a resource; of a deleted one, that of the dataset."""
    resource, line = chart.resource(key), chart.chart.get(key)
    return parse_resource(line) if resource is None and line is not None else resource


def covers(other: Sequence[PatientMention], own: Sequence[PatientMention]) -> bool:
    """Return whether everything that mentions one person mentions the other one as well, or more exactly."""
    return all(
        any(each.kind == fact.kind and each.start <= fact.start and each.end >= fact.end for each in other)
        for fact in own
    )
