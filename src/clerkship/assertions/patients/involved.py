"""The patients whom a task involves: its entities, and those who are named in what came in.

What came in is the task item, the steps and people of the scenario, and every event that the agent did not cause.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property, partial
from typing import Any

from clerkship.assertions.patients.directory import build_directory
from clerkship.assertions.patients.subject import DataReading, covers, join_texts, read_data
from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.chart import Chart, list_chart_views
from clerkship.formats.fhir.resource import find_patients, get_key, list_objects, parse_resource
from clerkship.text.contact_points import list_phone_digits, normalize_email
from clerkship.text.dates import find_dates, list_dates
from clerkship.text.folding import FoldedText, fold_text, fold_words
from clerkship.text.identity import Identity, list_street_forms, read_identity
from clerkship.text.index import MentionIndex, MentionQuery, PatientMention, select_telling, tells_who
from clerkship.text.words import COMMON_WORDS, STREET_WORDS

_NOT_TEXT = re.compile(r"[\0\ufffd]|\S{2000}")
"""What the content of a file has, such as a picture."""
_MIN_BEGINNING = 3
"""Letters of the beginning of a name by which a person may be searched for."""
_MIN_LONG_NAME = 6
"""Letters of a name that may be misspelled in two places; a shorter one may be in one."""


class InvolvedPatients:
    """Who is involved in a task, and by which data they may be searched for."""

    def __init__(self, evidence: Evidence) -> None:
        self._views = list_chart_views(evidence.states)
        self._directory = evidence.cached(build_directory)
        readings = [read_data(each) for each in _list_incoming(evidence)]
        self.text: FoldedText = fold_text(_join_readings(readings))
        """All that came in, in one text."""
        referred = {key for reading in readings for key in reading.keys | reading.patients}
        referred |= {f"{each.get('resourceType')}/{each.get('id')}" for each in evidence.entities.values()}
        addresses = (each.address for each in evidence.task.people if each.address is not None)
        callers = {person.key for each in addresses for person in self._directory.find_by_address(each)}
        self.keys: frozenset[str] = self._with_linked(self._find_named() | callers | self._find_owners(referred))
        """The keys of the patients, such as `Patient/42`."""

    def _find_named(self) -> set[str]:
        """Return the patients who are named, or one of whose relatives is, without those who are told from them."""
        added = (each for view in self._views for each in view.changed("Patient").values() if each is not None)
        new = MentionIndex(read_identity(get_key(each), each) for each in added if not self._is_known(get_key(each)))
        query = MentionQuery()
        mentions = {**self._directory.find_mentions(self.text, query), **new.find_mentions(self.text, query)}
        telling = {key: facts for key, facts in mentions.items() if any(True for _ in select_telling(facts))}
        named = {
            key
            for key, facts in telling.items()
            if not any(covers(each, facts) and not covers(facts, each) for each in telling.values())
        }
        return named | self._find_by_relatives(list(telling.values()))

    def _find_by_relatives(self, patients: Collection[Sequence[PatientMention]]) -> set[str]:
        """Return the patients one of whose relatives is named and is no patient."""
        indexes = (view.chart.get_or_build("relatives", partial(_index_relatives, view.chart)) for view in self._views)
        mentions = [item for index in indexes for item in index.find_mentions(self.text, MentionQuery()).items()]
        return {
            key.partition("#")[0]
            for key, facts in mentions
            if tells_who(facts) and not any(covers(each, facts) for each in patients)
        }

    def _is_known(self, key: str) -> bool:
        return key in self._directory.people

    def _find_owners(self, keys: Collection[str]) -> set[str]:
        """Return the patients among some resources, and those to whom they refer."""
        resources = (view.resource(key) for view in self._views for key in keys)
        owners = {key for resource in resources if resource is not None for key in find_patients(resource)}
        return owners | (self._directory.people.keys() & keys)

    def _with_linked(self, keys: set[str]) -> frozenset[str]:
        """Return patients with those to whom a resource of theirs refers beside them, such as a policy holder."""
        tables = [
            view.chart.get_or_build("linked patients", partial(_link_patients, view.chart)) for view in self._views
        ]
        return frozenset(keys.union(*(table.get(key, ()) for table in tables for key in keys)))

    @property
    def people(self) -> list[Identity]:
        """What identifies those of them who are in a dataset."""
        return [self._directory.people[key] for key in self.keys if self._is_known(key)]

    @cached_property
    def _names(self) -> frozenset[str]:
        """The parts of their names, and the capitalized words that came in."""
        own = {word for each in self.people for family in each.families for word in family}
        own |= {word for each in self.people for word in (*each.given, *each.middle)}
        return frozenset(
            own
            | {token.text for token in self.text.tokens if token.is_capitalized and len(token.text) >= _MIN_BEGINNING}
        )

    @cached_property
    def words(self) -> frozenset[str]:
        """All words that came in."""
        return frozenset(token.text for token in self.text.tokens)

    @cached_property
    def dates(self) -> frozenset[date]:
        """The dates that came in, in all their readings, and the birth dates of the patients."""
        written = {each for found in list_dates(self.text.lower) for each in found.readings}
        return frozenset(written | {each.birth_date for each in self.people if each.birth_date is not None})

    @cached_property
    def _digits(self) -> str:
        return re.sub(r"[\W_]+", "", self.text.lower)

    def is_name(self, value: str) -> bool:
        """Return whether a value is a name that came in, the beginning of one, or one with a slip of the pen."""
        words = fold_words(value)
        return bool(words) and all(map(self._is_name_word, words))

    def _is_name_word(self, word: str) -> bool:
        if word in self._names or (word in self.words and len(word) >= _MIN_BEGINNING and word not in COMMON_WORDS):
            return True
        if len(word) < _MIN_BEGINNING:
            return False
        most = 2 if len(word) >= _MIN_LONG_NAME else 1
        return any(name.startswith(word) or _is_near(name, word, most) for name in self._names)

    def is_date(self, value: str) -> bool:
        """Return whether a value is a whole date that came in, or the birth date of one of the patients."""
        return any(found.readings & self.dates for found in find_dates(value))

    def is_street(self, value: str) -> bool:
        """Return whether a street with its house number came in, or is one of the patients'."""
        forms = list(list_street_forms(fold_words(value)))
        text = " ".join(STREET_WORDS.get(token.text, token.text) for token in self.text.tokens)
        return any(form in text or any(form in each.streets for each in self.people) for form in forms)

    def is_number(self, value: str) -> bool:
        """Return whether a number, a phone number or an e-mail address came in, or is one of the patients'."""
        text = value.rpartition("|")[2].strip()
        if "@" in text:
            email = normalize_email(text)
            return email in self.text.lower or any(email in each.emails for each in self.people)
        forms = {re.sub(r"[\W_]+", "", text.lower()), *list_phone_digits(text)} - {""}
        own = {number for each in self.people for number in each.numbers}
        return any(form in own or (len(form) > _MIN_BEGINNING and form in self._digits) for form in forms)


def find_involved(evidence: Evidence) -> InvolvedPatients:
    """Return who is involved in a task. Use it with `evidence.cached`."""
    return InvolvedPatients(evidence)


def _list_incoming(evidence: Evidence) -> Iterator[Any]:
    task = evidence.task
    yield task.task_item
    yield [entity for entity in evidence.entities.values() if "resourceType" not in entity]
    if task.scenario is not None:
        yield from (step.args for step in task.scenario.steps)
    yield from (person.model_dump(exclude_defaults=True) for person in task.people)
    yield from (event.payload for event in evidence.events if evidence.find_originator(event) != "agent")


def _join_readings(readings: list[DataReading]) -> str:
    lines = dict.fromkeys(line for reading in readings for line in reading.lines)
    return join_texts(line for line in lines if _NOT_TEXT.search(line) is None)


def _index_relatives(chart: Chart) -> MentionIndex:
    """Return the index of the relatives and contacts of patients, by the key of the patient and a number."""

    def list_people() -> Iterator[tuple[str, Mapping[str, Any]]]:
        for resource in (parse_resource(chart[key]) for key in chart.list_keys("RelatedPerson")):
            yield from ((key, resource) for key in find_patients(resource))
        for resource in (parse_resource(chart[key]) for key in chart.list_keys("Patient")):
            for contact in list_objects(resource, "contact"):
                yield get_key(resource), {**contact, "name": [contact.get("name")]}

    return MentionIndex(read_identity(f"{key}#{number}", each) for number, (key, each) in enumerate(list_people()))


def _link_patients(chart: Chart) -> dict[str, set[str]]:
    """Return the patients to whom a resource refers together with another patient, by the key of that one."""
    linked: dict[str, set[str]] = {}
    for line in chart.values():
        if line.count(b'"Patient/') > 1 or (b'"Patient/' in line and line.startswith(b'{"resourceType":"Patient"')):
            patients = find_patients(parse_resource(line))
            for key in patients if len(patients) > 1 else ():
                linked.setdefault(key, set()).update(patients)
    return linked


def _is_near(one: str, other: str, most: int) -> bool:
    """Return whether two words differ in so many letters at most, which are added, left out or replaced."""
    if abs(len(one) - len(other)) > most:
        return False
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        last, row = row, [number]
        for place, each in enumerate(other, 1):
            row.append(min(last[place] + 1, row[-1] + 1, last[place - 1] + (letter != each)))
    return row[-1] <= most
