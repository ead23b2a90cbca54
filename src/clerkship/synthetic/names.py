"""Names, by where a family comes from, so that given and family names go together. Nobody real is meant."""

from typing import NamedTuple

from clerkship.synthetic.table import read_table


class Origin(NamedTuple):
    """Names that go together, and the language some of these families speak at home."""

    weight: int
    language: tuple[str, str]
    speak_it: float
    female: tuple[str, ...]
    male: tuple[str, ...]
    family: tuple[str, ...]


class ShortName(NamedTuple):
    """What people with a given name are often called; a second registration may have it."""

    given: str
    short: str


ORIGINS = read_table("names", Origin)
ORIGIN_WEIGHTS = tuple(origin.weight for origin in ORIGINS)
SHORT_NAMES = dict(read_table("short_names", ShortName))
