"""What HL7 v2 says of messages, version by version: compiled by `scripts/hl7_tables.py`, read when it is needed."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypedDict

import orjson

_HERE = Path(__file__).parent
VERSIONS = ("2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.7.1", "2.8")
_TABLES_VERSION = {version: version for version in VERSIONS} | {"2.8.1": "2.8", "2.8.2": "2.8"}


class VersionTables(TypedDict):
    """One version."""

    version: str
    events: dict[str, dict[str, str]]
    """Message types, their trigger events, and the structure of each. ACK has no events of its own."""
    structures: dict[str, str]
    """In HL7's notation: `[ ]` may be missing, `{ }` may come again, `< | >` is one of them."""
    segments: dict[str, list[str]]
    """The data type of each field: `!` where it must be there, `*` where it may come again; empty if it is gone."""
    types: dict[str, list[str]]
    """The data type of each component; `!` where it must be there. What is not here has no components."""


def resolve_version(text: str) -> str | None:
    """The version whose table is used for one that a message states; None where there is none."""
    return _TABLES_VERSION.get(text)


def load_code_table(number: str) -> Mapping[str, str]:
    """Return an HL7 table that is the same in every version, code by code."""
    table: Mapping[str, str] = orjson.loads((_HERE.parent / "codes.json").read_bytes())[number]
    return table


@cache
def load_tables(version: str) -> VersionTables:
    """The table of a version in VERSIONS."""
    table: VersionTables = orjson.loads((_HERE / f"{version}.json").read_bytes())
    return table
