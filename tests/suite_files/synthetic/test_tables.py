"""The tables under `suite_files/synthetic/tables`: every row has the columns and the types that the code expects."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from clerkship.suite_files.synthetic.analytes import ANALYTES, EFFECTS, PANELS, Analyte, Effect, Panel
from clerkship.suite_files.synthetic.claims import BilledService
from clerkship.suite_files.synthetic.conditions import ALLERGENS, ILLNESSES, Allergen, Illness
from clerkship.suite_files.synthetic.drugs import DRUGS, Drug
from clerkship.suite_files.synthetic.immunizations import Dose
from clerkship.suite_files.synthetic.orders import SCREENINGS, Screening
from clerkship.suite_files.synthetic.organizations import Location, Organization, VisitKind
from clerkship.suite_files.synthetic.staff import SPECIALIST_POSITIONS, StaffPosition
from clerkship.suite_files.synthetic.terms import SYSTEMS, TABLE_FOLDER, NamedTerm, Term, read_table
from clerkship.suite_files.synthetic.vitals import Growth, VitalSign
from clerkship.text import known_names
from clerkship.text.known_names import Origin, ShortName

ROWS: dict[str, type] = {
    "allergens": Allergen,
    "analytes": Analyte,
    "conditions": Illness,
    "drugs": Drug,
    "effects": Effect,
    "growth": Growth,
    "locations": Location,
    "organizations": Organization,
    "panels": Panel,
    "posts": StaffPosition,
    "screenings": Screening,
    "services": BilledService,
    "terms": NamedTerm,
    "vaccines": Dose,
    "visit_kinds": VisitKind,
    "vital_signs": VitalSign,
}


NAME_ROWS: dict[str, type] = {"names": Origin, "short_names": ShortName}


def find_mistakes(path: Path, row: type) -> Iterator[str]:
    """Yield errors in a table by file, line and column."""
    first, *lines, last = path.read_text().splitlines()
    assert (first, last) == ("[", "]"), f"{path.name}: one array, one row to a line"
    adapter: TypeAdapter[Any] = TypeAdapter(row)
    for place, line in enumerate(lines, 2):
        try:
            adapter.validate_json(line.removesuffix(","), strict=True)
        except ValidationError as error:
            for detail in error.errors():
                yield f"{path.name}:{place}: {'.'.join(map(str, detail['loc']))}: {detail['msg']}"


def test_every_file_is_a_table_that_is_checked() -> None:
    assert {path.name for path in TABLE_FOLDER.iterdir()} == {f"{name}.json" for name in ROWS}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_has_the_columns_and_types_of_its_table(name: str) -> None:
    assert list(find_mistakes(TABLE_FOLDER / f"{name}.json", ROWS[name])) == []
    assert len(read_table(name, ROWS[name])) == len((TABLE_FOLDER / f"{name}.json").read_text().splitlines()) - 2


@pytest.mark.parametrize("name", NAME_ROWS)
def test_every_row_of_names_has_the_columns_and_types_of_its_table(name: str) -> None:
    assert list(find_mistakes(known_names.TABLE_FOLDER / f"{name}.json", NAME_ROWS[name])) == []


def test_a_bad_row_is_reported_by_file_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "effects.json"
    rows = [
        '{"cause": "gout", "analyte": "urate", "low": "5.4", "high": 9.2}',
        '{"cause": "gout", "analyte": "urate", "low": 5.4, "hihg": 9.2}',
        '{"cause": "gout"',
    ]
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n")
    assert list(find_mistakes(path, Effect)) == [
        "effects.json:2: low: Input should be a valid number",
        "effects.json:3: high: Field required",
        "effects.json:3: hihg: Extra inputs are not permitted",
        "effects.json:4: : Invalid JSON: EOF while parsing an object at line 1 column 16",
    ]


def test_keys_are_unique() -> None:
    for name in ("allergens", "analytes", "conditions", "drugs", "panels", "posts", "screenings", "terms"):
        keys = [row.key for row in read_table(name, ROWS[name])]
        assert len(set(keys)) == len(keys), name


def test_rows_name_rows_that_exist() -> None:
    groups = {drug.group for drug in DRUGS.values()}
    causes = {*ILLNESSES, *DRUGS, *groups}
    assert {name for drug in DRUGS.values() for name in drug.avoid} <= causes
    assert set(EFFECTS) <= causes
    assert {analyte for ranges in EFFECTS.values() for analyte in ranges} <= set(ANALYTES)
    assert {analyte for panel in PANELS.values() for analyte in panel.analytes} <= set(ANALYTES)
    for illness in ILLNESSES.values():
        assert {drug for regimen in illness.regimens for drug in regimen} <= set(DRUGS), illness.key
        assert set(illness.panels) <= set(PANELS), illness.key
        assert {*illness.after, *illness.without} <= set(ILLNESSES), illness.key
        assert illness.specialty in ("", *(position.key for position in SPECIALIST_POSITIONS)), illness.key
    assert {key for screening in SCREENINGS for key in screening.illnesses} <= set(ILLNESSES)


def test_short_names_of_code_systems_become_their_addresses() -> None:
    assert ILLNESSES["gout"].snomed == Term(SYSTEMS["snomed"], "90560007", "Gout")
    assert ALLERGENS[0].term.system == SYSTEMS["rxnorm"]
