"""The HL7 v2 definitions of each version, compiled by `scripts/hl7_tables.py` and loaded on demand."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypedDict

import orjson

_FOLDER = Path(__file__).parent
VERSIONS = ("2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.7.1", "2.8")
DEFAULT_VERSION = "2.5.1"
"""The version of a message that states none, or an unknown one."""
_TABLES_VERSION = {version: version for version in VERSIONS} | {"2.8.1": "2.8", "2.8.2": "2.8"}


class VersionTables(TypedDict):
    """The definitions of one HL7 version."""

    version: str
    events: dict[str, dict[str, str]]
    """Message type -> trigger event -> message structure. ACK has no trigger events of its own."""
    structures: dict[str, str]
    """Message structures in HL7's notation: `[ ]` is optional, `{ }` repeats, `< | >` is a choice."""
    segments: dict[str, list[str]]
    """The data type of each field: `!` if it is required, `*` if it may repeat; empty if it was withdrawn."""
    types: dict[str, list[str]]
    """The data type of each component, `!` if it is required. Types that are not listed have no components."""


def resolve_version(text: str) -> str | None:
    """Return the version whose tables apply to the version stated by a message; None if it is unknown."""
    return _TABLES_VERSION.get(text)


def load_code_table(number: str) -> Mapping[str, str]:
    """Return an HL7 table that is the same in every version, as a mapping of code to meaning."""
    table: Mapping[str, str] = orjson.loads((_FOLDER.parent / "codes.json").read_bytes())[number]
    return table


@cache
def load_tables(version: str) -> VersionTables:
    """Return the definitions of one of `VERSIONS`."""
    table: VersionTables = orjson.loads((_FOLDER / f"{version}.json").read_bytes())
    return table
