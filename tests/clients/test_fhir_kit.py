"""fhir-kit-client, from npm, drives a FHIR server over HTTP."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.conftest import NODE, Ehr, patient


def drive(kit: Path, ehr: Ehr) -> dict[str, Any]:
    """Return the script's output."""
    command = ["node", str(NODE / "drive.mjs"), str(kit), ehr.url, ehr.token]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    output: dict[str, Any] = json.loads(done.stdout)
    return output


def test_fhir_kit_creates_reads_updates_and_deletes(ehr: Ehr, kit: Path) -> None:
    output = drive(kit, ehr)
    assert output["software"] == "4.0.1"
    assert output["read"] == patient(1)
    assert (output["created"]["meta"]["versionId"], output["created"]["name"]) == ("1", [{"family": "Hébert"}])
    assert [entry["resource"]["id"] for entry in output["search"]["entry"]] == [output["created"]["id"]]
    for bundle in (output["twice"], output["posted"]):
        assert {entry["resource"]["id"] for entry in bundle["entry"]} == {"o2", "o3", "o4"}
    assert [len(page) for page in output["pages"]] == [10, 10, 5]
    assert {id for page in output["pages"] for id in page} == {f"o{number}" for number in range(25)}
    assert output["patched"]["active"] is True
    assert output["stale"]["status"] == 412
    assert (output["updated"]["gender"], output["updated"]["meta"]["versionId"]) == ("female", "3")
    assert output["versions"] == 3
    assert "active" not in output["vread"]
    assert len(output["compartment"]["entry"]) == 4
    assert {entry["resource"]["resourceType"] for entry in output["everything"]["entry"]} == {"Patient", "Observation"}


def test_fhir_kit_transaction_is_atomic_and_batch_is_not(ehr: Ehr, kit: Path) -> None:
    output = drive(kit, ehr)
    made = [entry["response"]["location"].split("/") for entry in output["transaction"]["entry"]]
    ids = [parts[-3] for parts in made]
    assert [entry["response"]["status"][:3] for entry in output["transaction"]["entry"]] == ["201", "201"]
    assert ehr.handle.read("Observation", ids[1])["subject"]["reference"] == f"Patient/{ids[0]}"
    assert [entry["response"]["status"][:3] for entry in output["batch"]["entry"]] == ["200", "404"]


def test_fhir_kit_errors_are_operation_outcomes(ehr: Ehr, kit: Path) -> None:
    output = drive(kit, ehr)
    refused = {
        name: (output[name]["status"], output[name]["outcome"]) for name in ("gone", "missing", "wrong", "stranger")
    }
    assert {name: outcome for name, (_, outcome) in refused.items()} == dict.fromkeys(refused, "OperationOutcome")
    assert (refused["gone"][0], refused["missing"][0], refused["stranger"][0]) == (410, 404, 401)
    assert refused["wrong"][0] in (400, 422)
