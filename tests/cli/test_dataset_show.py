"""`clerkship dataset show`."""

from pathlib import Path

import orjson
import pytest

from clerkship.cli.app import run

SYNTHEA = Path(__file__).parent.parent / "suite_files" / "synthea"
ROSA = "Patient/c0ffee00-1111-4222-8333-000000000010"


def run_show(capfd: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Return standard output and standard error of a command."""
    assert run(["dataset", "show", *arguments]) == code
    told = capfd.readouterr()
    return told.out + told.err


def test_show_built_in_dataset(capfd: pytest.CaptureFixture[str]) -> None:
    text = run_show(capfd, "clinic-100")
    assert text.startswith("clinic-100  fhir  ")
    assert "100  Patient" in text
    assert "Patient/pat-0001 " in text
    data = orjson.loads(run_show(capfd, "clinic-100", "--json"))
    assert data["counts"]["Patient"] == len(data["patients"]) == 100
    assert data["hash"] in text
    later = orjson.loads(run_show(capfd, "clinic-100", "--json", "--now", "2027-01-01T09:00:00Z"))
    assert later["hash"] != data["hash"]


def test_show_fhir_files(capfd: pytest.CaptureFixture[str]) -> None:
    text = run_show(capfd, str(SYNTHEA))
    assert f"{ROSA} Mrs. Rosa Delgado, born 1971-05-04" in text
    resource = run_show(capfd, str(SYNTHEA), ROSA)
    assert orjson.loads(resource)["birthDate"] == "1971-05-04"
    assert '"valueDecimal": 0.50' in resource
    assert orjson.loads(run_show(capfd, str(SYNTHEA), ROSA, "--json"))["id"] == ROSA.partition("/")[2]
    text = run_show(capfd, str(SYNTHEA / "hospitalInformation1.json"))
    assert "1  Organization" in text


def test_show_dataset_defined_in_yaml(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one = "  - {name: one, type: fhir, records: [{resourceType: Patient, id: a}]}\n"
    two = "  - {name: two, type: records, records: [{type: Order, id: 1}, {id: 2}]}\n"
    three = "  - {name: three, type: files, files: {a.txt: b}}\n"
    (tmp_path / "d.yml").write_text(f"datasets:\n{one}")
    assert "1  Patient" in run_show(capfd, str(tmp_path))
    (tmp_path / "d.yml").write_text(f"datasets:\n{one}{two}{three}")
    assert "name the dataset" in run_show(capfd, str(tmp_path), code=2)
    assert "1  Order" in run_show(capfd, f"{tmp_path}::two")
    assert "1  file" in run_show(capfd, f"{tmp_path}::three")
    assert "dataset `four` not found" in run_show(capfd, f"{tmp_path}::four", code=2)
    assert "dataset two is of type records, not fhir" in run_show(capfd, f"{tmp_path}::two", "Patient/a", code=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["clinic-10"], "dataset, file or folder `clinic-10` not found; did you mean `clinic-100`?"),
        (["clinic-100", "Patient/nobody"], "Patient/nobody is not in dataset clinic-100"),
        (["clinic-100", "Pateint/a"], "Pateint/a is not in dataset clinic-100"),
        (["clinic-100", "Observaton"], "Observaton is not in dataset clinic-100; did you mean `Observation`?"),
        (
            ["clinic-100", "Zzz"],
            "Zzz is not in dataset clinic-100; expected one of AllergyIntolerance, Appointment, Claim",
        ),
        (["clinic-100", "Device"], "Device is not in dataset clinic-100"),
        (["clinic-100", "Patient?birtdate=1970"], "did you mean `birthdate`?"),
        (["clinic-100", "Patient?birthdate=soon"], "'soon' is not a date"),
        (["clinic-100", "--now", "soon"], "'soon' is not a time"),
        (["clinic-100", "--now", "2026-01-01"], "2026-01-01 has no time zone"),
    ],
)
def test_unknown_names_are_errors_with_a_suggestion(
    capfd: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert message in run_show(capfd, *arguments, code=2)


def test_mistakes_in_a_dataset_have_file_and_line(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"resourceType":"Patient","id":"a"}\n{"resourceType":"Patient","gender":"f"}\n')
    assert "a.ndjson:2" in run_show(capfd, str(tmp_path / "a.ndjson"), code=2)
    (tmp_path / "b.txt").write_text("x")
    assert "its format is unknown" in run_show(capfd, str(tmp_path / "b.txt"), code=2)


def test_resources_are_listed_by_type_and_by_search(capfd: pytest.CaptureFixture[str]) -> None:
    lines = run_show(capfd, "clinic-100", "Patient").splitlines()
    assert lines[0].startswith("Patient/pat-0001 ")
    assert (len(lines), lines[-1]) == (51, "… and 50 more")
    found = run_show(capfd, "clinic-100", "Observation?patient=pat-0003&_sort=-date").splitlines()
    assert len(found) > 3
    assert all(line.startswith("Observation/obs-0003-") for line in found[:50])
    data = orjson.loads(run_show(capfd, "clinic-100", "Patient?gender=female", "--json"))
    assert 0 < data["count"] == len(data["resources"]) < 100
    assert run_show(capfd, "clinic-100", "Patient?name=nobodyatall").strip() == "no matches"
