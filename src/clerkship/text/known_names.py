"""Names that are known as names: by origin, so that given and family names fit together, and their short forms."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import orjson

TABLE_FOLDER = Path(__file__).parent / "tables"
Row = TypeVar("Row")


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


def _read_table(name: str, row: Callable[..., Row]) -> tuple[Row, ...]:
    """Build a `row` from each object in `tables/<name>.json`. The tests check the types."""
    rows = orjson.loads((TABLE_FOLDER / f"{name}.json").read_bytes())
    return tuple(row(**{key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}) for fields in rows)


ORIGINS = _read_table("names", Origin)
ORIGIN_WEIGHTS = tuple(origin.weight for origin in ORIGINS)
SHORT_NAMES = dict(_read_table("short_names", ShortName))
