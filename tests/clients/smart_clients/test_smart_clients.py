"""Authlib gets access tokens with a registered RSA key; smart-fetch exports a chart with the key that it is given."""

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from tests.clients.conftest import NODE, Ehr, observation, patient
from tests.clients.installs import CannotInstall, python_environment

PROGRAMS = Path(__file__).parent / "programs"
MAX_SECONDS = 60
GROUP = {
    "resourceType": "Group",
    "id": "panel",
    "type": "person",
    "actual": True,
    "member": [{"entity": {"reference": "Patient/p1"}}],
}


@cache
def make_key() -> RSAKey:
    """Return the key pair of a client."""
    return RSAKey.generate_key(2048, {"kid": "k1"})


@pytest.fixture
def ehr() -> Iterator[Ehr]:
    resources = [*(patient(number) for number in range(7)), *(observation(number) for number in range(25)), GROUP]
    keys = {"keys": [make_key().as_dict(private=False)]}
    clients = [{"client_id": "agent"}, {"client_id": "sync", "scopes": ["system/*.cruds"], "jwks": keys}]
    served = Ehr(resources, clients=clients, export_duration="2s")
    yield served
    served.listener.close()


def find_program(name: str) -> Path:
    """Return the Python of a program; skip the test if it cannot be installed."""
    try:
        return python_environment(name, PROGRAMS / f"{name}.txt")
    except CannotInstall as problem:
        pytest.skip(str(problem))


def test_authlib_discovers_the_server_and_gets_tokens(ehr: Ehr) -> None:
    key = make_key().as_pem(private=True).decode()
    wanted = {"url": ehr.url, "client_id": "sync", "key": key, "kid": "k1", "algorithm": "RS384"}
    done = subprocess.run(
        [str(find_program("authlib")), str(PROGRAMS / "drive_authlib.py")],
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["token"]["scope"] == "system/Patient.rs system/Observation.c"
    assert told["read"] == [200, "p1"]
    status, challenge, type = told["refused"]
    assert (status, type) == (403, "OperationOutcome")
    assert 'error="insufficient_scope"' in challenge
    assert told["errors"] == ["invalid_client", "invalid_scope", "invalid_client"]


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        (["--type", "Patient,Observation", "--no-default-filters"], {"Patient": 7, "Observation": 25}),
        (["--group", "panel", "--no-default-filters"], {"Patient": 1, "Observation": 4}),
        (["--type", "Patient,Observation"], {"Patient": 7}),  # by default it asks for Observations with a category
    ],
)
def test_smart_fetch_exports_a_chart(ehr: Ehr, tmp_path: Path, options: list[str], lines: dict[str, int]) -> None:
    info = ehr.playground.sandboxes["ehr"].authentication_info(ehr.url)["smart"]
    key, output = tmp_path / "key.pem", tmp_path / "output"
    key.write_text(str(info["private_key"]), encoding="utf-8")
    program = find_program("smart_fetch").with_name("smart-fetch")
    command = [str(program), "bulk", str(output), "--fhir-url", ehr.url, "--no-compression"]
    command += ["--smart-client-id", str(info["client_id"]), "--smart-key", str(key), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    written = {path.name.partition(".")[0]: path.read_text("utf-8").count("\n") for path in output.glob("*.0*.ndjson")}
    assert written == lines
    kinds = ehr.kinds()
    assert (kinds[0], kinds[-1]) == ("fhir.token.issued", "fhir.export.cancelled")
    assert kinds.count("fhir.resources.exported") == len(lines)


def test_fhir_kit_discovers_the_token_endpoint(ehr: Ehr, kit: Path) -> None:
    command = ["node", str(NODE / "discover.mjs"), str(kit), ehr.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"tokenUrl": f"{ehr.url}/auth/token"}
