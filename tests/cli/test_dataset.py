"""`clerkship dataset generate`."""

import hashlib
import json
from pathlib import Path

import pytest

from clerkship.cli.app import run
from clerkship.formats.fhir.resource import Resource, parse_key, parse_resource, render_resource
from clerkship.formats.fhir.validation import validate
from clerkship.service.generating import RESOURCE_TYPES
from clerkship.suite_files.synthetic.generator import generate_lines
from tests.cli.terminal import clerkship

ARGUMENTS = ["dataset", "generate", "--patients", "5", "--seed", "3"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("more", [[], ["--out", "-"]], ids=["by default", "as a dash"])
def test_standard_output_has_only_the_data(tmp_path: Path, more: list[str]) -> None:
    done = clerkship(tmp_path, *ARGUMENTS, *more)
    assert not (tmp_path / "-").exists()
    assert done.returncode == 0
    assert done.stdout.encode() == b"".join(line + b"\n" for line in generate_lines(5, 3))
    assert done.stderr == ""


def test_printed_hash_is_that_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ARGUMENTS, "--out", "deep/valley.ndjson"]) == 0
    written = Path("deep/valley.ndjson").read_bytes()
    shown = capsys.readouterr().out
    assert hashlib.sha256(written).hexdigest() in shown
    slots = sum(parse_key(line).startswith("Slot/") for line in written.splitlines())
    assert f"{slots:,}" in shown
    assert [path.name for path in Path("deep").iterdir()] == ["valley.ndjson"]


def test_folder_has_a_file_for_each_type() -> None:
    assert run([*ARGUMENTS, "--out", "valley/"]) == 0
    found = [line for path in sorted(Path("valley").iterdir()) for line in path.read_bytes().splitlines()]
    assert tuple(found) == generate_lines(5, 3)
    patients = Path("valley/Patient.ndjson").read_bytes().splitlines()
    assert [parse_key(line) for line in patients] == [f"Patient/pat-000{number}" for number in range(1, 6)]


def test_bundle_is_a_valid_collection_of_the_same_resources() -> None:
    assert run([*ARGUMENTS, "--bundle", "--out", "valley.json"]) == 0
    bundle: Resource = parse_resource(Path("valley.json").read_bytes())
    assert bundle["type"] == "collection"
    assert tuple(render_resource(entry["resource"]) for entry in bundle["entry"]) == generate_lines(5, 3)
    assert validate(bundle) == []
    assert all(entry["fullUrl"].endswith(f"/{entry['resource']['id']}") for entry in bundle["entry"])


def test_bundle_without_patients_is_written_to_a_folder() -> None:
    assert run(["dataset", "generate", "--patients", "0", "--bundle", "--out", "some/"]) == 0
    assert parse_resource(Path("some/bundle.json").read_bytes())["entry"]


def test_now_moves_the_dates_in_any_time_zone() -> None:
    assert run([*ARGUMENTS, "--now", "2030-07-01T08:00:00-04:00", "--out", "a.ndjson"]) == 0
    assert run([*ARGUMENTS, "--now", "2030-07-01T12:00:00Z", "--out", "b.ndjson"]) == 0
    assert Path("a.ndjson").read_bytes() == Path("b.ndjson").read_bytes()
    assert b"slot-01-family-20300701-0900" in Path("a.ndjson").read_bytes()


def test_json_describes_the_generated_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ARGUMENTS, "--out", "valley.ndjson", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == ["valley.ndjson"]
    assert told["types"]["Patient"] == 5
    assert told["resources"] == sum(told["types"].values())
    assert [pair["kind"] for pair in told["look_alikes"]] == ["same name"]


@pytest.mark.parametrize("target", ["valley.ndjson", "valley/"])
def test_existing_files_are_overwritten_only_with_force(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ARGUMENTS, "--out", target]) == 0
    assert run([*ARGUMENTS, "--seed", "4", "--out", target]) == 2
    assert "overwrite with --force" in capsys.readouterr().err
    files = [Path(target)] if Path(target).is_file() else sorted(Path(target).iterdir())
    assert b"".join(path.read_bytes() for path in files).splitlines() == list(generate_lines(5, 3))
    assert run([*ARGUMENTS, "--seed", "4", "--out", target, "--force"]) == 0
    assert b"".join(path.read_bytes() for path in files).splitlines() == list(generate_lines(5, 4))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--now", "soon"], "is not a time"),
        (["--now", "2026-03-02T09:00:00"], "has no time zone"),
        (["--now", "1890-03-02T09:00:00Z"], "the year 1890 is not supported"),
        (["--patients", "-1"], "Invalid value"),
        (["--patients", "1000000000"], "Invalid value"),
        (["--out", "a_file/valley.ndjson"], "cannot be written"),
    ],
)
def test_invalid_option_is_an_error(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a_file").touch()
    assert run([*ARGUMENTS, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_overwriting_a_folder_removes_only_files_of_generated_types() -> None:
    assert run(["dataset", "generate", "--patients", "20", "--out", "valley/"]) == 0
    old = {path.name for path in Path("valley").iterdir()}
    Path("valley", "Device.ndjson").write_text("{}")
    Path("valley", "notes.ndjson").write_text("{}")
    assert run(["dataset", "generate", "--patients", "0", "--out", "valley/", "--force"]) == 0
    new = {path.name for path in Path("valley").iterdir()}
    assert {"Patient.ndjson", "Claim.ndjson"} <= old - new
    assert {"Device.ndjson", "notes.ndjson", "Practitioner.ndjson"} <= new
    assert "Device.ndjson" not in old


def test_resource_types_are_all_generated_types() -> None:
    assert set(RESOURCE_TYPES) == {parse_key(line).partition("/")[0] for line in generate_lines(100, 7)}
