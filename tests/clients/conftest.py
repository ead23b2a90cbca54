"""A FHIR server over real HTTP for third-party clients."""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource, render_resource
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators import fhir
from clerkship.simulators.fhir.handle import Fhir
from tests.clients.installs import CACHE, install_lock

NODE = Path(__file__).parent / "node"
MRN = "urn:example:mrn"


def patient(number: int, family: str = "Okafor") -> Resource:
    """Build one of several patients with the same family name."""
    return {
        "resourceType": "Patient",
        "id": f"p{number}",
        "meta": {"versionId": "1", "lastUpdated": "2026-01-01T00:00:00Z"},
        "identifier": [{"system": MRN, "value": f"MRN{number}"}],
        "active": True,
        "name": [{"family": family, "given": ["Zoë", f"N{number}"]}],
        "birthDate": f"19{40 + number}-03-15",
    }


def observation(number: int) -> Resource:
    """Build a potassium result of one of them."""
    return {
        "resourceType": "Observation",
        "id": f"o{number}",
        "meta": {"versionId": "1", "lastUpdated": "2026-01-01T00:00:00Z"},
        "status": "final",
        "code": {"coding": [{"system": "http://loinc.org", "code": "2823-3"}]},
        "subject": {"reference": f"Patient/p{number % 7}"},
        "effectiveDateTime": f"2026-02-{1 + number:02d}T08:00:00Z",
        "valueQuantity": {"value": 4.0, "unit": "mmol/L", "system": "http://unitsofmeasure.org", "code": "mmol/L"},
    }


class Ehr:
    """A playground with one chart over HTTP: seven patients, twenty-five results."""

    def __init__(self, resources: Iterable[Resource], **config: Any) -> None:
        environment = Environment(name="clinic", simulators={"ehr": Simulator(kind="fhir")})
        room = PreparedSimulator(
            fhir.SPEC, fhir.SPEC.config(**config), Chart(render_resource(resource) for resource in resources)
        )
        self.playground = Playground(environment, {"ehr": room}, "clients")
        self.gateway = Gateway()
        self.listener = open_http(self.gateway)
        self.handle = open_sandboxes(self.gateway, self.playground, self.listener.url).get_as(Fhir)
        self.url, self.token = self.handle.url, self.handle.token

    def kinds(self) -> list[str]:
        """Return the kinds of all events."""
        return [event.kind for event in self.playground.log.events]

    def end(self) -> None:
        """End the run."""
        self.playground.close()
        self.gateway.remove_playground(self.playground)


@pytest.fixture
def ehr() -> Iterator[Ehr]:
    served = Ehr([*(patient(number) for number in range(7)), *(observation(number) for number in range(25))])
    yield served
    served.listener.close()


@pytest.fixture(scope="session")
def kit() -> Path:
    """Return fhir-kit-client, installed once under .cache."""
    return installed("fhir-kit-client")


@pytest.fixture(scope="session")
def medplum() -> Path:
    """Return @medplum/hl7, an MLLP client and server, installed once under .cache."""
    return installed("@medplum/hl7")


def installed(package: str) -> Path:
    """Return the path of an npm package in the version under test; skip the test without npm."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    wanted = orjson.loads((NODE / "package.json").read_bytes())["dependencies"][package]
    folder = CACHE / f"{package.removeprefix('@').replace('/', '-')}-{wanted}"
    with install_lock(folder):
        if not (folder / "node_modules" / package / "package.json").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "package.json").write_bytes(orjson.dumps({"private": True, "dependencies": {package: wanted}}))
            command = [npm, "install", "--no-package-lock", "--silent"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode != 0:
                pytest.skip(f"{package} cannot be installed: {done.stderr.strip()[-300:]}")
    return folder
