"""Words that are names as well as ordinary words, words that stand beside names, and nicknames: `tables/words.json`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

_TABLE: Mapping[str, Any] = orjson.loads((Path(__file__).parent / "tables" / "words.json").read_bytes())


def _read_set(name: str) -> frozenset[str]:
    return frozenset(word for line in _TABLE[name] for word in line.split())


COMMON_WORDS = _read_set("common_words")
"""Names that do not tell alone that a patient is meant: `May`, `Grace`, `Hill`."""
PARTICLES = _read_set("particles")
"""Parts of family names that are no names themselves."""
SUFFIXES = _read_set("suffixes")
DOCTOR_TITLES = _read_set("doctor_titles")
"""Titles of staff: `Dr. Rivera` is not a patient by that alone."""
COURTESY_TITLES = _read_set("courtesy_titles")
"""Titles of patients: `Mr. Young` is a person, though young is an ordinary word."""
NAME_NEIGHBORS = _read_set("name_neighbors")
"""Words that do not form a name with the word beside them, although they may be capitalized."""
NUMBER_LABELS = _read_set("number_labels")
"""Words before a number that say whose it is, so that a short one counts too."""
STREET_TYPES, UNIT_WORDS = _read_set("street_types"), _read_set("unit_words")
STREET_WORDS: Mapping[str, str] = _TABLE["street_words"]
"""Words of a street line, and how they are abbreviated."""
NICKNAMES = {name: tuple(short.split()) for name, short in _TABLE["nicknames"].items()}
"""Short forms of given names in English and Spanish, by the folded name."""
