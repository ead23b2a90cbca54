"""Read the tables of this package: JSON files in `tables/`, one row to a line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from clerkship.suite_files.synthetic.terms import CVX, HL7, ICD10, LOINC, RXNORM, SNOMED, Term, codeable_concept

TABLE_FOLDER = Path(__file__).parent / "tables"
SYSTEMS = {"snomed": SNOMED, "icd-10-cm": ICD10, "loinc": LOINC, "rxnorm": RXNORM, "cvx": CVX}
"""The short names of code systems. Any other name is one of HL7's own."""

Row = TypeVar("Row")


class NamedTerm(NamedTuple):
    """A term that code refers to by its key."""

    key: str
    term: Term


def read_table(name: str, row: Callable[..., Row]) -> tuple[Row, ...]:
    """Build a `row` from each object in `tables/<name>.json`; its keys are the parameters.

    Arrays become tuples, and objects of `system`, `code` and `display` become terms. Types are not checked here: the
    tests check every table.
    """
    rows = orjson.loads((TABLE_FOLDER / f"{name}.json").read_bytes())
    return tuple(row(**{column: _parse_cell(value) for column, value in fields.items()}) for fields in rows)


def _parse_cell(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_parse_cell, value))
    if isinstance(value, dict):
        return Term(SYSTEMS.get(value["system"], HL7 + value["system"]), value["code"], value["display"])
    return value


TERMS = dict(read_table("terms", NamedTerm))


def build_concept(key: str, text: str = "") -> dict[str, Any]:
    """Return a CodeableConcept of one of `TERMS`."""
    return codeable_concept(TERMS[key], text=text)
