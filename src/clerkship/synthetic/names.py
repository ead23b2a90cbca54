"""Invented names by origin, so that given and family names fit together."""

from typing import NamedTuple

from clerkship.synthetic.table import read_table


class Origin(NamedTuple):
    """Names that fit together, and the language that some of these families speak at home."""

    weight: int
    language: tuple[str, str]
    speak_it: float
    female: tuple[str, ...]
    male: tuple[str, ...]
    family: tuple[str, ...]


class ShortName(NamedTuple):
    """The common short form of a given name, used for duplicate registrations."""

    given: str
    short: str


ORIGINS = read_table("names", Origin)
ORIGIN_WEIGHTS = tuple(origin.weight for origin in ORIGINS)
SHORT_NAMES = dict(read_table("short_names", ShortName))
