"""A small table of drugs, their classes, allergies and interactions, of our own making (`drugs.json`).

A *substance* is the name of an ingredient or of a class of drugs.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import orjson

from clerkship.model.frozen import Flag, Frozen

RXNORM = "http://www.nlm.nih.gov/research/umls/rxnorm"
SNOMED = "http://snomed.info/sct"
Codes = frozenset[tuple[str, str]]
Indicator = Literal["info", "warning", "critical"]
"""How urgent a card about a finding is, in increasing order."""


class Substance(Frozen):
    """How an ingredient or a class is named and coded."""

    names: tuple[str, ...] = ()
    """Its names in texts, in lower case; the key of the table if there are none."""
    rxnorm: tuple[str, ...] = ()
    snomed: tuple[str, ...] = ()


class Ingredient(Substance):
    """An ingredient of drugs."""

    classes: tuple[str, ...]


class DrugClass(Substance):
    """A class of drugs."""

    cross_reacts: Flag = False
    """Whether an allergy to one drug of the class is an allergy to all of them."""
    one_at_a_time: Flag = False
    """Whether two drugs of the class at once are a duplicate."""


class DrugProduct(Frozen):
    """A drug in one strength and form, as it is ordered."""

    display: str
    ingredients: tuple[str, ...]


class CrossAllergy(Frozen):
    """A drug of another class to which patients with an allergy may react."""

    allergy: str
    drug: str
    text: str


class DrugInteraction(Frozen):
    """Two ingredients or classes that should not be given together."""

    between: tuple[str, str]
    indicator: Indicator
    text: str


class DrugTable(Frozen):
    """What the rules of the service know."""

    ingredients: dict[str, Ingredient]
    classes: dict[str, DrugClass]
    products: dict[str, DrugProduct]
    """Drugs by their code in RxNorm."""
    cross_allergies: tuple[CrossAllergy, ...]
    alternatives: dict[str, tuple[str, ...]]
    """Codes of products to suggest instead of an ingredient or a class."""
    interactions: tuple[DrugInteraction, ...]

    @cached_property
    def by_code(self) -> dict[tuple[str, str], frozenset[str]]:
        """Substances by system and code."""
        substances = {
            (system, code): frozenset({key})
            for key, substance in (*self.classes.items(), *self.ingredients.items())
            for system, codes in ((RXNORM, substance.rxnorm), (SNOMED, substance.snomed))
            for code in codes
        }
        products = {(RXNORM, code): frozenset(product.ingredients) for code, product in self.products.items()}
        return substances | products

    @cached_property
    def by_name(self) -> dict[str, frozenset[str]]:
        """Substances by name; a name may stand for a combination."""
        names: dict[str, frozenset[str]] = {}
        for key, substance in (*self.classes.items(), *self.ingredients.items()):
            for name in substance.names or (key.lower(),):
                names[name] = names.get(name, frozenset()) | {key}
        return names

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds names in a text in lower case, the longest first: `penicillin v` is more than `penicillin`."""
        names = sorted(self.by_name, key=len, reverse=True)
        return re.compile(rf"(?<![a-z0-9])({'|'.join(map(re.escape, names))})s?(?![a-z0-9])")


@cache
def load_drugs() -> DrugTable:
    """Return the table."""
    return DrugTable.model_validate(orjson.loads(Path(__file__).with_suffix(".json").read_bytes()))


def list_texts(concept: object) -> Iterator[str]:
    """Yield the texts of a CodeableConcept: its text and the displays of its codings."""
    if not isinstance(concept, Mapping):
        return
    codings = concept.get("coding")
    for text in (concept.get("text"), *(each.get("display") for each in list_objects(codings))):
        if isinstance(text, str) and text:
            yield text


def list_codes(concept: object) -> set[tuple[str, str]]:
    """Return the system and code of each coding of a CodeableConcept."""
    codings = concept.get("coding") if isinstance(concept, Mapping) else None
    return {(str(each.get("system", "")), str(each["code"])) for each in list_objects(codings) if "code" in each}


def list_objects(value: object) -> list[Mapping[str, Any]]:
    """Return the objects of a list; none if it is not a list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def find_substances(concept: object) -> frozenset[str]:
    """Return the ingredients and classes that a concept means: by its codes, or, if none is known, by its words.

    Codes come first, because texts mislead: `losartan potassium` is no potassium.
    """
    table = load_drugs()
    coded = [table.by_code[code] for code in list_codes(concept) if code in table.by_code]
    if coded:
        return frozenset().union(*coded)
    return frozenset().union(*(find_named_substances(text) for text in list_texts(concept)))


def find_named_substances(text: str) -> frozenset[str]:
    """Return the ingredients and classes that a text names."""
    table = load_drugs()
    return frozenset().union(*(table.by_name[name] for name in table.pattern.findall(text.lower())))


def list_classes(substances: frozenset[str]) -> frozenset[str]:
    """Return the classes of substances, and the classes among them."""
    table = load_drugs()
    classes = {each for key in substances if key in table.ingredients for each in table.ingredients[key].classes}
    return frozenset(classes) | (substances & table.classes.keys())


@lru_cache(maxsize=1024)
def expand(substances: frozenset[str]) -> frozenset[str]:
    """Return substances with their classes."""
    return substances | list_classes(substances)


def find_allergens(concept: object) -> frozenset[str]:
    """Return the ingredients and classes that a patient with an allergy should not take."""
    classes = load_drugs().classes
    substances = find_substances(concept)
    named = substances & classes.keys()
    return substances | {each for each in list_classes(substances) if each in named or classes[each].cross_reacts}
