"""A FHIR server over real HTTP for third-party clients, and the choice of their tests that `make test` runs."""

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

FOLDER = Path(__file__).parent
NODE = FOLDER / "node"
ROUND_TRIPS = {
    # The smallest round trip of each program.
    "test_curl.py": ("test_curl_lists_reads_uploads_deletes_and_is_refused",),
    "test_fhir_kit.py": ("test_fhir_kit_creates_reads_updates_and_deletes",),
    "test_fhirclient.py": ("test_fhirclient_creates_reads_updates_and_deletes",),
    "test_fhirpy.py": ("test_fhirpy_creates_reads_updates_and_deletes",),
    "test_lftp.py": ("test_lftp_mirrors_both_ways",),
    "test_medplum.py": ("test_medplum_expands_value_sets_and_checks_codes",),
    "test_mllp.py": ("test_mllp_send_sends_a_file", "test_medplum_sends_sequentially_and_concurrently"),
    "test_paramiko.py": ("test_paramiko_uploads_and_downloads",),
    "test_scp.py": ("test_scp_copies_file_both_ways[over sftp]",),
    "test_sftp.py": ("test_sftp_puts_gets_renames_and_removes",),
    "browser_agents/test_browser_agents.py": ("test_playwright_in_node_passes", "test_the_guide_quotes_the_examples"),
    "cds_judges/test_sandbox_service.py": ("test_judge_accepts_the_discovery_document",),
    "temporal/test_temporal.py": (
        "test_run_on_temporal_equals_a_local_run_although_a_worker_and_the_server_are_killed",
        "test_runs_that_need_this_machine_are_refused",
        "test_server_that_does_not_answer_is_named",
        "test_address_names_server_and_namespace",
        "test_other_addresses_are_refused",
    ),
    "fax_tools/test_libtiff.py": ("test_tiffinfo_decodes_each_page_as_group_4_fax",),
    "fax_tools/test_poppler.py": ("test_pdfinfo_gives_the_size_of_each_page_on_paper",),
    "mail_clients/test_nodemailer.py": ("test_nodemailer_sends_and_is_refused",),
    "mail_clients/test_swaks.py": ("test_swaks_verifies_the_certificate",),
    "mcp_judges/test_sdk.py": ("test_client_of_versions_with_a_handshake",),
    "model_agents/test_model_agents.py": ("test_openai_loop", "test_pydantic_ai"),
    "pyjwt_signer/test_pyjwt.py": ("test_a_service_accepts_a_jwt_of_pyjwt_once[ES384]",),
    "sinch_fax/test_sdk.py": ("test_the_sdk_sends_reads_lists_downloads_and_parses_webhooks",),
    "smart_clients/test_smart_clients.py": ("test_authlib_discovers_the_server_and_gets_tokens",),
    "twilio_sdk/test_sdks.py": tuple(
        f"test_the_sdk_sends_lists_streams_and_fetches_and_its_webhooks_are_signed[{language}]"
        for language in ("python", "node")
    ),
    "x12_judges/test_judges.py": tuple(
        f"test_judge_accepts_valid_messages[{judge}]" for judge in ("linuxforhealth-x12", "pyx12", "node-x12")
    ),
    "test_round_trips.py": ("test_every_chosen_test_exists",),
    # Rules about our own lists and messages, which run no program.
    "mcp_judges/test_node_judges.py": ("test_page_names_what_fails",),
    "cds_judges/test_examples.py": ("test_each_disagreement_is_listed_once",),
    "x12_judges/test_agreement.py": ("test_clerkship_refuses_every_flaw", "test_each_disagreement_is_listed_once"),
    "x12_judges/test_reasons.py": ("test_page_lists_the_reasons_of_all_disagreements",),
    "x12_judges/test_sandbox.py": ("test_each_reply_is_of_the_expected_kind",),
    "x12_judges/test_written.py": tuple(
        f"test_written_answers_are_valid[{written}]" for written in ("written_271", "written_277", "written_278")
    ),
}
"""The tests of `make test`, by file. All others are left to `make test-all`."""
MRN = "urn:example:mrn"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of outside programs as slow, except the smallest round trip of each."""
    for item in items:
        if item.path.is_relative_to(FOLDER):
            chosen = ROUND_TRIPS.get(item.path.relative_to(FOLDER).as_posix(), ())
            if item.name not in chosen and not item.get_closest_marker("fhir"):
                item.add_marker(pytest.mark.slow)


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
