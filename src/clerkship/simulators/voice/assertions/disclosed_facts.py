"""Facts of a record that can be said: a diagnosis, a medication, an appointment, a result."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple

from clerkship.formats.fhir.resource import list_objects
from clerkship.text.folding import fold_words
from clerkship.text.spoken_text import Alternatives

RecordKind = Literal["diagnosis", "medication", "appointment", "result"]
_KIND_BY_TYPE: Mapping[str, RecordKind] = {
    "Condition": "diagnosis",
    "MedicationRequest": "medication",
    "MedicationStatement": "medication",
    "MedicationDispense": "medication",
    "Medication": "medication",
    "Appointment": "appointment",
    "Observation": "result",
    "DiagnosticReport": "result",
}
MIN_WORD = 5
"""Letters of a word that tells a diagnosis or a medication by itself."""
MIN_STEMMED = 8
"""Letters of a word whose other endings count, too."""
_GENERAL_WORD_LIST = """
about acute after before benign bilateral capsule chronic common daily delayed disease diseases disorder
dosage essential extended external finding following general history injection internal lower major
malignant measurement mellitus middle minor mixed moderate morning nightly normal other primary recurrent
release right secondary severe simple situation solution stage status suspected suspension symptom symptoms
syndrome system tablet tablets topical unspecified upper using weekly without
"""
_GENERAL_WORDS = frozenset(_GENERAL_WORD_LIST.split())
"""Words of the names of diagnoses and medications that tell nothing by themselves."""
_QUALIFIER = re.compile(r"\s*\([^()]{0,80}\)\s*\Z")


class RecordFact(NamedTuple):
    """A fact of a record, in the wordings that tell it."""

    kind: RecordKind
    label: str
    wordings: Alternatives


def get_record_kind(record: Mapping[str, Any]) -> RecordKind | None:
    """Return what a record tells of a patient; None for a type without such facts."""
    return _KIND_BY_TYPE.get(str(record.get("resourceType")))


def read_fact(record: Mapping[str, Any]) -> RecordFact | None:
    """Return the fact of a record; None if the record has none that can be said."""
    kind = get_record_kind(record)
    if kind is None:
        return None
    wordings = tuple(dict.fromkeys(wording for wording in _list_wordings(record, kind) if wording.strip()))
    return RecordFact(kind, wordings[0], wordings) if wordings else None


def _list_wordings(record: Mapping[str, Any], kind: RecordKind) -> Iterator[str]:
    if kind == "appointment":
        yield from _list_times(record.get("start"))
    elif kind == "result":
        yield from _list_results(record)
    else:
        names = ("code", "medicationCodeableConcept")
        texts = [text for name in names for text in _list_concept_texts(record.get(name))]
        reference = record.get("medicationReference")
        if isinstance(reference, Mapping) and isinstance(reference.get("display"), str):
            texts.append(reference["display"])
        for text in texts:
            yield text
            yield _QUALIFIER.sub("", text)
        for text in texts:
            for word in filter(is_telling, fold_words(text)):
                yield word
                if len(word) >= MIN_STEMMED:  # of diabetes, `diabetic` tells the same; whole words do not match this
                    yield word[:-2]


def is_telling(word: str) -> bool:
    """Return whether a word of a name tells the diagnosis or medication by itself."""
    return len(word) >= MIN_WORD and word.isalpha() and word not in _GENERAL_WORDS


def _list_concept_texts(concept: Any) -> Iterator[str]:
    if not isinstance(concept, Mapping):
        return
    if isinstance(concept.get("text"), str):
        yield concept["text"]
    for coding in list_objects(concept, "coding"):
        if isinstance(coding.get("display"), str):
            yield coding["display"]


def _list_times(start: Any) -> Iterator[str]:
    """Yield the day of an appointment, which is rarely said with its year."""
    if not isinstance(start, str):
        return
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:
        return
    yield f"{moment:%B} {moment.day}"
    yield f"--{moment:%m-%d}"
    yield from (f"{moment:%A} {the}{moment.day}" for the in ("", "the "))


def _list_results(record: Mapping[str, Any]) -> Iterator[str]:
    quantity = record.get("valueQuantity")
    if isinstance(quantity, Mapping) and isinstance(quantity.get("value"), int | float):
        value, unit = f"{quantity['value']:g}", str(quantity.get("unit", ""))
        # A single digit is in many sentences: it counts with its unit.
        yield value if len(value) > 1 else f"{value} {'percent' if unit == '%' else unit}"
    for name in ("valueString", "conclusion"):
        if isinstance(record.get(name), str):
            yield record[name]
    yield from _list_concept_texts(record.get("valueCodeableConcept"))


def get_owner(record: Mapping[str, Any]) -> str | None:
    """Return the key of the patient that a record is about; None if it does not say."""
    for name in ("subject", "patient"):
        reference = record.get(name)
        if isinstance(reference, Mapping) and isinstance(reference.get("reference"), str):
            return str(reference["reference"])
    for participant in list_objects(record, "participant"):
        actor = participant.get("actor")
        key = actor.get("reference") if isinstance(actor, Mapping) else None
        if isinstance(key, str) and key.startswith("Patient/"):
            return key
    return None
