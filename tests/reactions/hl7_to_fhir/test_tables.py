"""`tables.json`: every table maps codes to texts, or to a code and its display, and is used."""

import re
from pathlib import Path

import orjson

from clerkship.reactions import hl7_to_fhir

FOLDER = Path(hl7_to_fhir.__file__).parent


def test_each_table_has_own_line_and_uniform_values() -> None:
    first, *lines, last = (FOLDER / "tables.json").read_text().splitlines()
    assert (first, last) == ("{", "}")
    for line in lines:
        [(number, table)] = orjson.loads(f"{{{line.removesuffix(',')}}}").items()
        assert re.fullmatch(r"\d{4}", number), line
        texts = all(isinstance(value, str) for value in table.values())
        terms = all(isinstance(value, list) and [*map(type, value)] == [str, str] for value in table.values())
        assert texts or terms, f"table {number}: texts, or pairs of code and display"
        assert all(code == code.upper() for code in table), f"table {number}: codes are looked up in capitals"


def test_every_table_is_used() -> None:
    source = "".join(path.read_text() for path in FOLDER.glob("*.py"))
    used = re.findall(r'(?:code|term)_table\("(\d{4})"\)', source)
    assert sorted(used) == sorted(orjson.loads((FOLDER / "tables.json").read_bytes()))
