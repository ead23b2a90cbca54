"""Bulk Data `$export`: kick-off, polling in simulated time, files, snapshots, scopes and what criteria see."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import orjson
import pytest

from clerkship.events.evidence import Evidence
from clerkship.model.task import Task
from clerkship.sandbox.request import Request
from clerkship.simulators.fhir.assertions.shown_resources import find_shown_resources
from clerkship.simulators.fhir.export import MAX_EXPORTS, NDJSON
from tests.simulators.fhir.backend_client import BackendRig
from tests.simulators.fhir.server import ADA, BASE, BEN, CHART, MAY, POTASSIUM, Server

GROUP: dict[str, Any] = {
    "resourceType": "Group",
    "id": "panel",
    "type": "person",
    "actual": True,
    "member": [
        {"entity": {"reference": "Patient/ada"}},
        {"entity": {"reference": "Patient/ben"}, "inactive": True},
    ],
}
ASYNC = {"prefer": "respond-async"}
SECOND = timedelta(seconds=1)


class ExportServer(Server):
    """A FHIR server, and what a bulk client does with it."""

    def __init__(self, *resources: Any, **config: Any) -> None:
        super().__init__(*(resources or (*CHART, GROUP)), **config)

    def start(self, target: str, **headers: str) -> str:
        """Start an export; return the path of its status."""
        reply = self.send("GET", target, **{**ASYNC, **headers})
        assert reply.status == 202, reply.body
        return reply.headers["Content-Location"].removeprefix(f"{BASE}/")

    def prepare(self) -> None:
        """Let time pass until the files are ready."""
        self.rig.playground.advance(self.state.config.export_duration)

    def poll(self, status: str) -> dict[str, Any]:
        """Return the manifest."""
        reply = self.rig.send(Request("GET", f"/{status}"))
        assert (reply.status, reply.media) == (200, "application/json")
        manifest: dict[str, Any] = orjson.loads(reply.body)
        return manifest

    def download(self, status: str) -> dict[str, list[Any]]:
        """Return the resources of all files, by type."""
        found: dict[str, list[Any]] = {}
        for output in self.poll(status)["output"]:
            reply = self.rig.send(Request("GET", output["url"].removeprefix(BASE), {}, {"accept": NDJSON}))
            assert (reply.status, reply.media) == (200, NDJSON)
            resources = [orjson.loads(line) for line in reply.body.splitlines()]
            assert len(resources) == output["count"]
            found.setdefault(output["type"], []).extend(resources)
        return found

    def export(self, target: str, **headers: str) -> list[str]:
        """Return the keys of the resources that an export has."""
        status = self.start(target, **headers)
        self.prepare()
        files = self.download(status)
        assert [each["resourceType"] for type in files for each in files[type]] == [t for t in files for _ in files[t]]
        return [f"{type}/{each['id']}" for type, resources in files.items() for each in resources]

    def list_shown(self) -> dict[str, Any]:
        """Return the resources that the agent has read, as criteria see them."""
        evidence = Evidence(Task(name="x"), self.events(), {"box": self.state}, "agent_done")
        return {each.key: each.resource for each in find_shown_resources(evidence, "box")}


@pytest.fixture
def server() -> ExportServer:
    return ExportServer()


def test_an_export_is_started_polled_and_downloaded(server: ExportServer) -> None:
    reply = server.send("GET", "Patient/$export?_type=Patient&_since=2026-01-02", **ASYNC)
    assert reply.status == 202
    status = reply.headers["Content-Location"].removeprefix(f"{BASE}/")
    started = server.rig.playground.now
    server.rig.playground.advance(SECOND)
    pending = server.rig.send(Request("GET", f"/{status}"))
    assert (pending.status, pending.body) == (202, b"")
    assert (pending.headers["Retry-After"], pending.headers["X-Progress"]) == ("3", "40 % done")
    server.prepare()
    manifest = server.poll(status)
    assert manifest == {
        "transactionTime": started.isoformat(timespec="milliseconds"),
        "request": f"{BASE}/Patient/$export?_type=Patient&_since=2026-01-02",
        "requiresAccessToken": True,
        "output": [{"type": "Patient", "url": f"{BASE}/{status}/Patient.1.ndjson", "count": 1}],
        "error": [],
    }
    assert server.download(status) == {"Patient": [BEN]}


@pytest.mark.parametrize(
    ("target", "keys"),
    [
        ("$export", "Group/panel Observation/k1 Patient/ada Patient/ben Practitioner/may"),
        ("$export?_type=Practitioner,Patient", "Patient/ada Patient/ben Practitioner/may"),
        ("$export?_type=Practitioner&_type=Group", "Group/panel Practitioner/may"),
        ("$export?_type=Task", ""),
        ("$export?_outputFormat=ndjson&_since=2026-01-02T08:00:00Z", "Patient/ben"),
        ("Patient/$export", "Group/panel Observation/k1 Patient/ada Patient/ben"),
        ("Patient/$export?_type=Practitioner", ""),
        ("Group/panel/$export", "Group/panel Observation/k1 Patient/ada"),
        (f"$export?_type=Patient&_typeFilter={quote('Patient?name=okafor')}", "Patient/ada"),
        (
            f"$export?_typeFilter={quote('Patient?name=x,Patient?name=Brandt,Group?type=person')}",
            "Group/panel Observation/k1 Patient/ben Practitioner/may",
        ),
    ],
)
def test_level_and_parameters_select_resources(server: ExportServer, target: str, keys: str) -> None:
    assert server.export(target) == keys.split()


def test_parameters_may_come_in_a_body(server: ExportServer) -> None:
    parameters = [{"name": "_type", "valueString": "Patient"}, {"name": "_type", "valueString": "Group"}]
    body = {"resourceType": "Parameters", "parameter": parameters}
    reply = server.send("POST", "$export", body, **ASYNC)
    server.prepare()
    files = server.download(reply.headers["Content-Location"].removeprefix(f"{BASE}/"))
    assert list(files) == ["Group", "Patient"]


def test_an_export_has_what_was_stored_when_it_was_requested(server: ExportServer) -> None:
    server.send("PUT", "Patient/ada", ADA | {"active": True})
    server.send("DELETE", "Observation/k1")
    status = server.start("$export")
    server.send("PUT", "Patient/ada", ADA | {"active": False})
    server.send("DELETE", "Patient/ben")
    server.send("POST", "Patient", {"resourceType": "Patient"})
    server.prepare()
    files = server.download(status)
    assert list(files) == ["Group", "Patient", "Practitioner"]
    assert [each.get("active") for each in files["Patient"]] == [True, None]
    assert [each["id"] for each in files["Patient"]] == ["ada", "ben"]
    assert files["Patient"][0]["meta"]["versionId"] == "2"


def test_a_fork_continues_an_export_and_gives_the_same_files(server: ExportServer) -> None:
    status = server.start("Group/panel/$export")
    server.send("PUT", "Group/panel", GROUP | {"member": []})
    fork = server.rig.fork()
    assert fork.dumped() == server.rig.dumped() == server.rig.rebuilt()
    for rig in (server.rig, fork):
        rig.playground.advance(timedelta(seconds=5))
    requests = [Request("GET", f"/{status}"), Request("GET", f"/{status}/Observation.1.ndjson")]
    assert [fork.send(each) for each in requests] == [server.rig.send(each) for each in requests]


def test_large_types_are_split_into_files() -> None:
    server = ExportServer(*(ADA | {"id": f"p{number}"} for number in range(5)), max_page_size=2)
    status = server.start("$export")
    server.prepare()
    assert [output["count"] for output in server.poll(status)["output"]] == [2, 2, 1]
    assert len(server.download(status)["Patient"]) == 5


@pytest.mark.parametrize(
    ("target", "headers", "status", "words"),
    [
        ("$export", {}, 400, "Prefer: respond-async"),
        ("$export?_elements=id", ASYNC, 400, "unknown parameter `_elements`"),
        ("$export?includeAssociatedData=x", ASYNC, 400, "unknown parameter `includeAssociatedData`"),
        ("$export?_outputFormat=text/csv", ASYNC, 400, "_outputFormat"),
        ("$export?_type=Patient,Nothing", ASYNC, 404, "`Nothing` is not a resource type"),
        ("$export?_since=soon", ASYNC, 400, "_since"),
        ("$export?_typeFilter=Patient", ASYNC, 400, "_typeFilter"),
        (f"$export?_typeFilter={quote('Patient?_count=1')}", ASYNC, 400, "without result parameters"),
        (f"$export?_typeFilter={quote('Patient?colour=red')}", ASYNC, 400, "colour"),
        ("Group/nobody/$export", ASYNC, 404, "there is no Group/nobody"),
        ("Patient/ada/$export", ASYNC, 404, "$export"),
        ("_export/nothing", {}, 404, "there is no export nothing"),
        ("_export/nothing/Patient.1.ndjson", {}, 404, "there is no export nothing"),
    ],
)
def test_other_exports_are_refused(
    server: ExportServer, target: str, headers: dict[str, str], status: int, words: str
) -> None:
    with server.assert_unchanged():
        reply = server.send("GET", target, **headers)
    assert reply.status == status
    assert words in reply.json["issue"][0]["diagnostics"]


def test_with_lenient_handling_unknown_parameters_are_ignored_and_named(server: ExportServer) -> None:
    reply = server.send("GET", "$export?_elements=id&_type=Patient", prefer="respond-async, handling=lenient")
    assert reply.status == 202
    assert "ignored: _elements" in reply.json["issue"][0]["diagnostics"]
    [started] = server.events()
    assert started.payload.model_dump()["request"] == "/$export?_type=Patient"


def test_a_deleted_export_is_gone(server: ExportServer) -> None:
    status = server.start("$export")
    assert server.get(f"{status}/Patient.1.ndjson").status == 404
    assert server.send("DELETE", status).status == 202
    assert [server.send(method, status).status for method in ("GET", "DELETE")] == [404, 404]
    assert server.get(f"{status}/Patient.1.ndjson").status == 404
    assert server.replay_state() == server.state.dump() == {}


def test_the_number_of_exports_is_limited(server: ExportServer) -> None:
    statuses = [server.start("$export") for _ in range(MAX_EXPORTS)]
    assert len(set(statuses)) == MAX_EXPORTS
    assert server.send("GET", "$export", **ASYNC).status == 429
    server.send("DELETE", statuses[0])
    server.start("$export")


def test_each_resource_of_a_downloaded_file_counts_as_read(server: ExportServer) -> None:
    status = server.start("$export?_type=Patient,Observation")
    server.send("PUT", "Patient/ben", BEN | {"active": True})
    server.prepare()
    server.poll(status)
    assert server.list_shown() == {}
    server.download(status)
    assert server.list_shown() == {"Patient/ada": ADA, "Patient/ben": BEN, "Observation/k1": POTASSIUM}


def test_bundles_may_not_export(server: ExportServer) -> None:
    batch = {"resourceType": "Bundle", "type": "batch", "entry": [{"request": {"method": "GET", "url": "$export"}}]}
    [answer] = server.send("POST", "", batch).entries
    assert answer["response"]["status"].startswith("400")


@pytest.fixture
def backend() -> Iterator[BackendRig]:
    client = BackendRig(resources=(*CHART, GROUP, MAY))
    with client.rig:
        yield client


def test_a_token_exports_the_types_that_it_may_read_and_search(backend: BackendRig) -> None:
    token = backend.get_token("system/Patient.rs system/Observation.r")
    for target, status in (("$export", 202), ("$export?_type=Patient", 202), ("$export?_type=Observation", 403)):
        assert backend.send(token, "GET", target, **ASYNC).status == status
    chain = quote("Patient?general-practitioner:Practitioner.name=may")
    for access, status in ((token, 403), (backend.get_token("system/*.rs"), 202)):
        assert backend.send(access, "GET", f"$export?_type=Patient&_typeFilter={chain}", **ASYNC).status == status
    for scope in ("system/*.r", "system/*.s", "system/Patient.s"):
        assert backend.send(backend.get_token(scope), "GET", "$export", **ASYNC).status == 403


def test_an_export_is_only_for_tokens_that_cover_it(backend: BackendRig) -> None:
    wide, narrow = backend.get_token("system/*.read"), backend.get_token("system/Patient.rs")
    reply = backend.send(wide, "GET", "$export", **ASYNC)
    status = reply.headers["Content-Location"].removeprefix(f"{BASE}/")
    backend.rig.playground.advance(timedelta(seconds=5))
    for method, path in (("GET", status), ("GET", f"{status}/Patient.1.ndjson"), ("DELETE", status)):
        assert backend.send(narrow, method, path).status == 403
        assert backend.send(wide, method, path).status in (200, 202)
    own = backend.send(narrow, "GET", "Patient/$export", **ASYNC).headers["Content-Location"].removeprefix(f"{BASE}/")
    backend.rig.playground.advance(timedelta(seconds=5))
    manifest = orjson.loads(backend.send(narrow, "GET", own).body)
    assert [output["type"] for output in manifest["output"]] == ["Patient"]
    patient, _ = backend.sandbox.credentials.grant(["patient/*.rs"], "ada", timedelta(hours=1))
    assert backend.send(patient, "GET", "Patient/$export", **ASYNC).status == 403
