"""Facts about a patient that not everyone may be told: diagnoses, medications, birth date, address, SSN.

Only what a chart has is looked for, by its name, its code or a common synonym; an SSN also by its form, and topics of
health that need special protection by their words.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.chart import Chart, list_chart_views
from clerkship.formats.fhir.resource import Resource, find_patients, get_key, list_objects, parse_resource
from clerkship.sandbox.activity import Purpose
from clerkship.text.folding import FoldedText, fold_text, fold_words, read_signs_as_letters
from clerkship.text.identity import Identity
from clerkship.text.index import Kind, MentionIndex, MentionQuery

FactKind = Literal["ssn", "diagnosis", "service_diagnosis", "medication", "service_medication", "birth_date", "address"]
"""Kinds of facts. A diagnosis or medication of the service is one that the task, or what came in, names."""
_TABLE: Mapping[str, Any] = orjson.loads(Path(__file__).with_name("purposes.json").read_bytes())
ALLOWED: Mapping[Purpose, frozenset[FactKind]] = {
    purpose: frozenset(kinds) for purpose, kinds in _TABLE["purposes"].items()
}
"""What may be told for each purpose, besides names, numbers and appointments."""
_MODIFIERS, _ENDS = frozenset(_TABLE["modifiers"]), frozenset(_TABLE["ends"])
_SALTS, _COMMON_DRUG_WORDS = frozenset(_TABLE["salts"]), frozenset(_TABLE["common_drug_words"])
_SYNONYMS: Mapping[str, Sequence[str]] = _TABLE["synonyms"]
_CONDITION, _MEDICATIONS = "Condition", ("MedicationRequest", "MedicationStatement")
_CONCEPTS = ("code", "medicationCodeableConcept", "medicationReference")
_SSN_SYSTEM, _SSN_CODE = "http://hl7.org/fhir/sid/us-ssn", "SS"
_SSN = re.compile(
    r"(?<![\w-])(?!000|666|9\d\d)\d{3}-\d\d-\d{4}(?![\w-])"
    r"|(?:\bssn|\bsocial security(?: (?:number|no|nr))?|\bref\*sy)\W{0,3}"
    r"(?:is|are|ends in|ending in)?\W{0,3}\d[\d .-]{3,14}"
)
_SSN_HINT = re.compile(r"\d-\d\d-\d|ssn|social security|ref\*sy")
"""Without one of these in it, a text has no SSN by its form."""
_NINE_DIGITS = re.compile(r"(?<!\d)\d(?:[ .-]?\d){8}(?!\d)")
_QUALIFIER = re.compile(r"\([^()]{0,80}\)")
MIN_ALONE = 6
"""Letters of the only word that is left of a longer name without its modifiers: `pain` is no diagnosis."""
MIN_CODE = 6
"""Digits of a code, such as of SNOMED CT, that is looked for."""
_ICD = re.compile(r"[a-z]\d[0-9a-z](?:\.?[0-9a-z]{1,4})?")
_CODE = re.compile(rf"(?<![\w.]){_ICD.pattern}(?!\w|\.\w)|(?<![\w.-])\d{{{MIN_CODE},18}}(?![\w-])")


class ChartFact(NamedTuple):
    """A diagnosis or medication of a patient, in the words and codes that tell it."""

    kind: Literal["diagnosis", "medication"]
    label: str
    phrases: frozenset[tuple[str, ...]]
    codes: frozenset[str]
    """In lower case, without the dot of ICD-10."""


_TOPICS = [ChartFact("diagnosis", topic, frozenset({tuple(topic.split())}), frozenset()) for topic in _TABLE["topics"]]


class ToldFact(NamedTuple):
    """A fact in a text."""

    kind: FactKind
    label: str
    excerpt: str


class SearchedText(NamedTuple):
    """A text, and the words of each way to read it."""

    text: FoldedText
    readings: tuple[tuple[FoldedText, list[str]], ...]


def read_text(text: FoldedText) -> SearchedText:
    """Return a text as facts are looked for in it, with letters for the digits and signs in words."""
    readings = (text, *map(fold_text, read_signs_as_letters(text.plain)))
    return SearchedText(text, tuple((each, [token.text for token in each.tokens]) for each in readings))


class FactSearch:
    """Looks for the facts of some patients in texts."""

    def __init__(self, people: Sequence[Identity], facts: Iterable[ChartFact], ssns: frozenset[str]) -> None:
        self._people, self._ssns = MentionIndex(people), ssns
        self._phrases: dict[str, list[tuple[tuple[str, ...], ChartFact]]] = defaultdict(list)
        self._codes: dict[str, ChartFact] = {}
        for fact in facts:
            for phrase in fact.phrases:
                self._phrases[phrase[0]].append((phrase, fact))
            self._codes.update(dict.fromkeys(fact.codes, fact))

    def find(self, text: FoldedText, kinds: Sequence[Kind], *, is_spoken: bool) -> Iterator[ToldFact]:
        """Yield the facts in a text, each once."""
        seen: set[tuple[FactKind, str]] = set()
        for fact in (
            *_find_ssn(text, self._ssns),
            *self._find_identity(text, kinds, is_spoken),
            *(self.find_chart_facts(read_text(text)) if self._phrases or self._codes else ()),
        ):
            if fact[:2] not in seen:
                seen.add(fact[:2])
                yield fact

    def _find_identity(self, text: FoldedText, kinds: Sequence[Kind], is_spoken: bool) -> Iterator[ToldFact]:
        wanted = [kind for kind in ("birth_date", "address") if kind in kinds]
        query = MentionQuery(kinds=wanted, is_spoken=is_spoken)  # type: ignore[arg-type]
        for mentions in self._people.find_mentions(text, query).values():
            for each in mentions:
                kind: FactKind = "birth_date" if each.kind == "birth_date" else "address"
                yield ToldFact(
                    kind, f"{kind.replace('_', ' ')} of {each.person.label}", text.excerpt(each.start, each.end, 20)
                )

    def find_chart_facts(self, searched: SearchedText) -> Iterator[ToldFact]:
        """Yield the diagnoses and medications in a text, each as often as it is there."""
        text = searched.text
        for reading, words in searched.readings if self._phrases else ():
            for place, word in enumerate(words):
                for phrase, fact in self._phrases.get(word, ()):
                    if tuple(words[place : place + len(phrase)]) == phrase:
                        last = reading.tokens[place + len(phrase) - 1]
                        yield _build(fact, reading.excerpt(reading.tokens[place].start, last.end, 20))
        for match in _CODE.finditer(text.lower) if self._codes else ():
            code = self._codes.get(match[0].replace(".", ""))
            if code is not None:
                yield _build(code, text.excerpt(match.start(), match.end(), 20))


def _build(fact: ChartFact, excerpt: str) -> ToldFact:
    return ToldFact(fact.kind, f"{fact.kind} {fact.label}", excerpt)


def _find_ssn(text: FoldedText, known: frozenset[str]) -> Iterator[ToldFact]:
    for match in _SSN.finditer(text.lower) if _SSN_HINT.search(text.lower) else ():
        yield ToldFact("ssn", "SSN", text.excerpt(*match.span()))
    for match in _NINE_DIGITS.finditer(text.lower) if known else ():
        if re.sub(r"\D", "", match[0]) in known:
            yield ToldFact("ssn", "SSN", text.excerpt(*match.span()))


class PatientFacts:
    """The facts of the patients of all charts of a run."""

    def __init__(self, evidence: Evidence) -> None:
        self._views = list_chart_views(evidence.states)
        self._searches: dict[tuple[frozenset[str], bool], FactSearch] = {}

    def open_search(self, people: Sequence[Identity], *, is_restricted: bool) -> FactSearch:
        """Return the search for the facts of some patients; it is built once. Where a purpose restricts what may be
        told, it also finds what any patient of the charts has: who is told of it cannot know whose it is not.
        """
        keys = frozenset(person.key for person in people)
        if (keys, is_restricted) not in self._searches:
            facts = [fact for key in keys for fact in self.list_facts(key)]
            if is_restricted:
                facts += _TOPICS
                for view in self._views:
                    facts += view.chart.get_or_build("health terms", partial(_read_terms, view.chart))
            ssns = frozenset(number for key in keys for number in self._list_ssns(key))
            self._searches[keys, is_restricted] = FactSearch(people, facts, ssns)
        return self._searches[keys, is_restricted]

    def list_facts(self, patient: str) -> Iterator[ChartFact]:
        """Yield the diagnoses and medications of a patient, also those that the run added."""
        for view in self._views:
            yield from view.chart.get_or_build(("told facts", patient), partial(_read_facts, view.chart, patient))
            for type in (_CONDITION, *_MEDICATIONS):
                changed = (each for each in view.changed(type).values() if each is not None)
                yield from (read_fact(each) for each in changed if patient in find_patients(each))

    def _list_ssns(self, patient: str) -> Iterator[str]:
        for view in self._views:
            for identifier in list_objects(view.resource(patient) or {}, "identifier"):
                codes = [each.get("code") for each in list_objects(identifier.get("type") or {}, "coding")]
                if identifier.get("system") == _SSN_SYSTEM or _SSN_CODE in codes:
                    yield re.sub(r"\D", "", str(identifier.get("value", "")))


def _read_terms(chart: Chart) -> list[ChartFact]:
    """Return the diagnoses and medications of all patients of a dataset, and other drugs, each without codes."""
    names: dict[str, Resource] = {}
    for resource in (
        parse_resource(chart[key]) for type in (_CONDITION, *_MEDICATIONS) for key in chart.list_keys(type)
    ):
        names.setdefault(repr([resource.get(name) for name in _CONCEPTS]), resource)
    return [read_fact(resource)._replace(codes=frozenset()) for resource in names.values()]


def _read_facts(chart: Chart, patient: str) -> list[ChartFact]:
    """Return the facts of one patient in a dataset. Only the lines with a reference to the patient are parsed."""
    lines = (chart[key] for type in (_CONDITION, *_MEDICATIONS) for key in chart.list_keys(type))
    resources = (parse_resource(line) for line in lines if patient.encode() in line)
    return [read_fact(resource) for resource in resources if patient in find_patients(resource)]


def read_fact(resource: Resource) -> ChartFact:
    """Return the diagnosis of a Condition, or the drug of a MedicationRequest."""
    is_condition = resource["resourceType"] == _CONDITION
    concept = resource.get("code" if is_condition else "medicationCodeableConcept")
    concept = concept if isinstance(concept, dict) else {}
    codings = list_objects(concept, "coding")
    reference = resource.get("medicationReference")
    texts = [concept.get("text"), *(each.get("display") for each in codings)]
    texts.append(reference.get("display") if isinstance(reference, dict) else None)
    names = [text for text in texts if isinstance(text, str)]
    read = _list_diagnosis_phrases if is_condition else _list_drug_phrases
    codes = (str(each.get("code", "")).lower() for each in codings)
    return ChartFact(
        "diagnosis" if is_condition else "medication",
        next(iter(names), get_key(resource)),
        frozenset(_add_synonyms(phrase for name in names for phrase in read(name))),
        frozenset(code.replace(".", "") for code in codes if _ICD.fullmatch(code) or _is_number(code)),
    )


def _is_number(code: str) -> bool:
    return code.isdigit() and len(code) >= MIN_CODE


def _add_synonyms(phrases: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    for phrase in phrases:
        yield phrase
        yield from (fold_words(each) for each in _SYNONYMS.get(" ".join(phrase), ()))


def _list_diagnosis_phrases(name: str) -> Iterator[tuple[str, ...]]:
    """Yield a name without its additions, and its core: of `Essential (primary) hypertension`, hypertension."""
    whole = fold_words(_QUALIFIER.sub(" ", name).partition(",")[0])
    end = next((place for place, word in enumerate(whole) if word in _ENDS), len(whole))
    words = list(whole[:end])
    if not words:
        return
    yield tuple(words)
    while len(words) > 1 and (words[0] in _MODIFIERS or words[0].isdigit()):
        words.pop(0)
    while len(words) > 1 and (words[-1] in _MODIFIERS - {"disorder"} or words[-1].isdigit()):
        words.pop()
    if len(words) > 1 or len(words[0]) >= MIN_ALONE:
        yield tuple(words)


def _list_drug_phrases(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the name of a drug without its strength, and its substance: of `24 HR metoprolol succinate`, metoprolol."""
    words = [word for word in fold_words(name) if word not in ("hr", "actuat")]
    start = next((place for place, word in enumerate(words) if not word.isdigit()), len(words))
    end = next((place for place in range(start, len(words)) if words[place].isdigit()), len(words))
    words = words[start:end]
    while len(words) > 1 and words[-1] in _SALTS:
        yield tuple(words)
        words.pop()
    if words and (len(words) > 1 or words[0] not in _COMMON_DRUG_WORDS):
        yield tuple(words)
    if words and len(words[0]) >= MIN_ALONE and words[0] not in _COMMON_DRUG_WORDS:
        yield (words[0],)
