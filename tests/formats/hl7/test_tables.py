"""The shipped tables equal what the script compiles from the libraries."""

import pytest

from clerkship.formats.hl7.tables import VERSIONS, load_tables, resolve_version
from scripts import hl7_tables
from tests.choices import mark_slow_after


@pytest.mark.parametrize("version", mark_slow_after(2, sorted(VERSIONS)))
def test_tables_match_script_output(version: str) -> None:
    shipped = (hl7_tables.TABLES / f"{version}.json").read_bytes()
    assert shipped == hl7_tables.dumped(hl7_tables.compiled(version)), "run python -m scripts.hl7_tables"


def test_script_and_package_have_same_versions() -> None:
    assert hl7_tables.VERSIONS == VERSIONS
    assert {file.stem for file in hl7_tables.TABLES.glob("*.json")} == set(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_referenced_name_is_defined(version: str) -> None:
    table = load_tables(version)
    for events in table["events"].values():
        assert set(events.values()) <= set(table["structures"])
    for notation in table["structures"].values():
        names = set("".join(sign if sign.isalnum() else " " for sign in notation).split())
        assert names <= set(table["segments"])


def test_repeated_names_in_structure_are_kept() -> None:
    structures = load_tables("2.5.1")["structures"]
    assert structures["ADT_A17"].count("PID") == 2
    assert structures["ADT_A01"].count("[{ROL}]") == 4
    assert "<OBR|RQD|RQ1|RXO [{NTE}] [{RXR}] [{RXC [{NTE}]}]|ODS|ODT>" in structures["ORM_O01"]


@pytest.mark.parametrize("version", VERSIONS)
def test_common_events_are_in_every_version(version: str) -> None:
    events = load_tables(version)["events"]
    assert {f"A{number:02}" for number in (1, 2, 3, 4, 5, 8, 11, 13, 28, 31, 40)} <= set(events["ADT"])
    assert set(events["MDM"]) == {f"T{number:02}" for number in range(1, 12)}
    assert {f"S{number}" for number in (12, 13, 14, 15, 26)} <= set(events["SIU"])
    assert ("ORM" in events) == (version < "2.7")  # withdrawn there


def test_2_8_1_and_2_8_2_resolve_to_2_8() -> None:
    assert [resolve_version(text) for text in ("2.8", "2.8.1", "2.8.2", "2.9", "2.2", "")] == ["2.8"] * 3 + [None] * 3
