"""A small table of drugs, their classes, allergens and interactions, of our own making."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from clerkship.cds.card import Indicator
from clerkship.model.frozen import Frozen

_WORD = re.compile(r"[a-z]+")


class DrugInteraction(Frozen):
    """Two drugs or classes that should not be given together."""

    between: tuple[str, str]
    indicator: Indicator
    text: str


class DrugTable(Frozen):
    """What the rules of the service know."""

    drugs: dict[str, tuple[str, ...]]
    """The classes of each ingredient."""
    allergens: dict[str, str]
    """The class that a word in an allergy means."""
    alternatives: dict[str, str]
    """An ingredient to suggest instead of a class."""
    interactions: tuple[DrugInteraction, ...]


@cache
def load_drugs() -> DrugTable:
    """Return the table."""
    return DrugTable.model_validate(orjson.loads(Path(__file__).with_suffix(".json").read_bytes()))


def list_texts(concept: object) -> Iterator[str]:
    """Yield the texts of a CodeableConcept: its text and the displays of its codings."""
    if not isinstance(concept, Mapping):
        return
    codings = concept.get("coding")
    for text in (concept.get("text"), *(each.get("display") for each in _objects(codings))):
        if isinstance(text, str):
            yield text


def list_codes(concept: object) -> set[tuple[str, str]]:
    """Return the system and code of each coding of a CodeableConcept."""
    codings = concept.get("coding") if isinstance(concept, Mapping) else None
    return {(str(each.get("system", "")), str(each["code"])) for each in _objects(codings) if "code" in each}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def find_ingredients(concept: object) -> set[str]:
    """Return the known ingredients that the texts of a concept name."""
    words = {word for text in list_texts(concept) for word in _WORD.findall(text.lower())}
    return words & load_drugs().drugs.keys()


def find_allergens(concept: object) -> set[str]:
    """Return the ingredients and classes that an allergy is about."""
    table = load_drugs()
    text = " ".join(list_texts(concept)).lower()
    classes = {drug_class for word, drug_class in table.allergens.items() if word in text}
    return classes | find_ingredients(concept)


def expand(ingredients: set[str]) -> set[str]:
    """Return ingredients with their classes."""
    drugs = load_drugs().drugs
    return ingredients | {drug_class for each in ingredients for drug_class in drugs.get(each, ())}
