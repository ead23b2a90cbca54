"""HL7 tables, and what their codes are in FHIR: `tables.json`, one table to a line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

_TABLES: dict[str, dict[str, Any]] = orjson.loads((Path(__file__).parent / "tables.json").read_bytes())


def code_table(number: str) -> Mapping[str, str]:
    """Return a table that gives one code, text or address for each code."""
    return _TABLES[number]


def term_table(number: str) -> Mapping[str, Sequence[str]]:
    """Return a table that gives a code and its display for each code."""
    return _TABLES[number]
