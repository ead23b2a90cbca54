"""Determinism: the same arguments give the same bytes in any process, at any time, and with more patients."""

import hashlib
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.formats.fhir.resource import parse_key, parse_resource
from clerkship.model.errors import InputError
from clerkship.service.generating import parse_now
from clerkship.suite_files.synthetic.generator import generate, generate_lines
from clerkship.suite_files.synthetic.version import DEFAULT_NOW, GENERATOR_VERSION, MAX_PATIENTS
from tests.examples import examples

PINNED = {
    "1": "cfdef041e70786ce2dbc2499e5646bb58b6fd60e4a5b2206bf95d3ab6cd58a63",
    "2": "1a4d87e23efdb55c70e3da71018a4d076a2c3f46d275a1915ec531f382861152",
}
"""By the generator's version: the hash of 100 patients of seed 7 at the default time."""
SCRIPT = """
import hashlib
from clerkship.suite_files.synthetic.generator import generate_lines
print(hashlib.sha256(b"\\n".join(generate_lines(30, 11))).hexdigest())
"""


def digest(lines: tuple[bytes, ...]) -> str:
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


def test_changed_bytes_require_a_new_generator_version() -> None:
    assert digest(generate_lines(100, 7)) == PINNED[GENERATOR_VERSION], "raise GENERATOR, and pin what it makes now"


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_another_process_generates_the_same_bytes(hash_seed: str) -> None:
    environ = {"PYTHONHASHSEED": hash_seed, "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environ, check=True, timeout=120
    )
    assert ran.stdout.strip() == digest(generate_lines(30, 11))


def test_lines_are_sorted_and_unique() -> None:
    keys = [tuple(parse_key(line).split("/")) for line in generate_lines(30, 11)]
    assert keys == sorted(set(keys))


def test_another_seed_generates_other_patients() -> None:
    assert digest(generate_lines(5, 1)) != digest(generate_lines(5, 2))


def test_zone_of_now_does_not_change_the_bytes() -> None:
    elsewhere = DEFAULT_NOW.astimezone(timezone(timedelta(hours=9)))
    assert generate_lines(10, 3, elsewhere) == generate_lines(10, 3, DEFAULT_NOW)


def test_full_teams_do_not_change_with_more_patients() -> None:
    assert set(generate_lines(100, 7)) <= set(generate_lines(230, 7))


def test_patients_do_not_change_with_more_patients_except_for_slots() -> None:
    few, many = set(generate_lines(40, 7)), set(generate_lines(60, 7))
    assert {parse_key(line).split("/")[0] for line in few - many} <= {"Slot"}


def test_a_team_may_be_empty() -> None:
    types = {parse_resource(line)["resourceType"] for line in generate_lines(0, 7)}
    assert "Organization" in types
    assert "Patient" not in types


def test_dates_move_with_now() -> None:
    later = DEFAULT_NOW + timedelta(days=364)  # the same day of the week
    before = {r["id"]: r for r in generate(20, 7, DEFAULT_NOW) if r["resourceType"] == "Patient"}
    after = {r["id"]: r for r in generate(20, 7, later) if r["resourceType"] == "Patient"}
    for id, patient in before.items():
        moved = datetime.fromisoformat(after[id]["birthDate"]) - datetime.fromisoformat(patient["birthDate"])
        assert moved == timedelta(days=364)
        assert after[id]["name"] == patient["name"]


@pytest.mark.parametrize(
    ("patients", "now"),
    [
        (-1, DEFAULT_NOW),
        (MAX_PATIENTS + 1, DEFAULT_NOW),
        (1, DEFAULT_NOW.replace(tzinfo=None)),
        (1, DEFAULT_NOW.replace(year=1999)),
        (1, DEFAULT_NOW.replace(year=2100)),
    ],
)
def test_invalid_arguments_are_refused_first(patients: int, now: datetime) -> None:
    with pytest.raises(InputError):
        generate_lines(patients, 1, now)


@pytest.mark.parametrize("text", ["2099-12-31T23:30:00-05:00", "2000-01-01T00:30:00+14:00"])
def test_year_limit_applies_to_the_given_zone(text: str) -> None:
    """The time is in another year in UTC."""
    assert generate_lines(2, 1, parse_now(text))


@settings(max_examples=examples(15, quick=5), deadline=None)
@given(
    patients=st.integers(0, 26),
    seed=st.integers(-(2**63), 2**63),
    now=st.datetimes(datetime(2000, 1, 1), datetime(2099, 12, 30), timezones=st.just(UTC)),
)
def test_any_seed_count_and_time_are_accepted(patients: int, seed: int, now: datetime) -> None:
    resource = [parse_resource(line) for line in generate_lines(patients, seed, now)]
    assert sum(resource["resourceType"] == "Patient" for resource in resource) == patients
    assert len({(resource["resourceType"], resource["id"]) for resource in resource}) == len(resource)
    assert all(datetime.fromisoformat(resource["meta"]["lastUpdated"]) <= now for resource in resource)
