"""The record of a criterion's `input_entity_id`: which texts, addresses and data of a run are about it.

See docs/decisions/0007-outcomes-and-grading.md.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clerkship.assertions.patients.data_reading import read_data
from clerkship.assertions.patients.directory import build_directory
from clerkship.assertions.patients.plain_record import PERSON_KINDS, to_resource
from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.chart import ChartView
from clerkship.formats.fhir.resource import Resource, iter_references, parse_resource
from clerkship.model.errors import InputError
from clerkship.text.folding import fold_text
from clerkship.text.identity import read_identity
from clerkship.text.index import MentionIndex, MentionQuery, PatientMention, select_telling, tells_who

MAX_CHARACTERS = 2_000_000
"""Characters of one item that are searched. A longer one is about no record; a criterion that forbids it counts it."""
_APART = "\n" + ";" * 8 + "\n"
"""What stands between the texts of an item, so that no name or number is read across them."""
_MERGED_ELEMENTS = ("name", "telecom", "address", "identifier")


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
        self._charts = [state for state in evidence.states.values() if isinstance(state, ChartView)]
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
        text = _APART.join(filter(None, (*texts, *addresses, *reading.lines)))
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
                for _, reference in iter_references(resource)
            )
        return self._owned[key]

    def _is_meant(self, text: str, is_spoken: bool, forbids: bool) -> bool:
        query = MentionQuery(only=frozenset(self._index.people), now=self._now, is_spoken=is_spoken)
        mentions = self._index.find_mentions(fold_text(text), query)
        own = mentions.get(self.key, ())
        telling = list(select_telling(own))
        others = [facts for key, facts in mentions.items() if key != self.key]
        if forbids:
            return bool(telling) and not any(_covers(each, own) and not _covers(own, each) for each in others)
        is_enough = tells_who(own)
        if not is_enough and is_spoken:  # a caller is asked for one fact after the other
            is_enough = len({each.kind for each in telling}) > 1
        return is_enough and not any(_covers(each, own) for each in others)


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


def _covers(other: Sequence[PatientMention], own: Sequence[PatientMention]) -> bool:
    """Return whether everything that mentions one person mentions the other one as well, or more exactly."""
    return all(
        any(each.kind == fact.kind and each.start <= fact.start and each.end >= fact.end for each in other)
        for fact in own
    )
