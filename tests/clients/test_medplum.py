"""@medplum/core, from npm, uses the terminology operations of a FHIR server over HTTP."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import NODE, Ehr, installed, observation


@pytest.fixture(scope="module")
def core() -> Path:
    """Return @medplum/core, installed once under .cache."""
    return installed("@medplum/core")


def test_medplum_expands_value_sets_and_checks_codes(core: Path) -> None:
    potassium = observation(1)
    potassium["code"]["coding"][0]["display"] = "Potassium"
    del potassium["subject"]
    ehr = Ehr([potassium])
    try:
        command = ["node", str(NODE / "medplum_drive.mjs"), str(core), ehr.url, ehr.token]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        output: dict[str, Any] = json.loads(done.stdout)
    finally:
        ehr.listener.close()
    genders = output["expanded"]["expansion"]["contains"]
    assert [(each["code"], each["display"]) for each in genders] == [
        ("male", "Male"),
        ("female", "Female"),
        ("other", "Other"),
        ("unknown", "Unknown"),
    ]
    assert [each["code"] for each in output["filtered"]["expansion"]["contains"]] == ["2823-3"]
    assert output["unknown"]["code"] == "not-found"
    assert output["unlisted"]["code"] == "not-supported"
    assert output["validated"]["parameter"][0] == {"name": "result", "valueBoolean": False}
    assert {"name": "display", "valueString": "Other"} in output["looked_up"]["parameter"]
    assert ehr.kinds().count("fhir.codes.read") == 4
