"""The examples of the OpenAPI description: what a server really answered to requests that follow each other.

`python -m tests.api.examples` writes them to `src/clerkship/api/examples.json`; a test compares them with this file.
"""

import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from textwrap import dedent
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from clerkship.api.app import build_app
from clerkship.api.description import EXAMPLES
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.service.serving.drafts.packing import MEDIA_TYPE, pack
from clerkship.service.serving.server import open_server
from clerkship.settings import Settings

JSON = "application/json"
PAPERS = {
    "suite.yml": """
        environment: {name: desk, datasets: [forms], simulators: {drop: {kind: files}}}
        dataset: {name: forms, type: files, files: {form.txt: "NAME: Ada"}}
        benchmark: {name: Papers, slug: papers, version: 1, environment: desk, tasks: ["*"]}
        tasks:
          - name: Copy a form
            task_item: {instruction: Copy form.txt to out.txt.}
            criteria: [{label: The copy is there, gate: true, assertion: {file_present: {path: out.txt}}}]
          - name: Leave it
            task_item: {instruction: Say that nothing is to be done.}
            criteria: [{label: An answer, gate: true, assertion: {answer_matches: {contains: nothing}}}]
        """,
}
TALK = {
    "suite.yml": """
        benchmark: {name: Shop, slug: shop, version: 1, tasks: ["*"]}
        scenario:
          name: Where is my order
          simulation_context: You wait for an order.
          setup: {person: {lines: ["Where is my order?", "And when?"]}}
          goals: {assertions: [{bot_uttered: {text_matches: tomorrow}}]}
        """,
}
_CHANGING = (
    (re.compile(r"\b(cl[a-z])_[\w-]{43,}"), r"\1_…"),
    (re.compile(r"\brun-\d{8}-\d{6}-[0-9a-f]{6}\b"), "run-20260302-090000-67b319"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"), "2026-03-02T09:00:00Z"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:41234"),
    (re.compile(r"(?<=[:\"])[0-9a-f]{64}(?=\")"), "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
)
_ID = re.compile(r"\b([a-z]+)([-_])[0-9a-f]{12,32}(?![0-9a-f])")
_CHANGING_FIELDS = {
    "seconds_left": 3600.0,
    "suffix": "x4Fq",
    "user": "cbo54xy5urfn3c2x5tja",
    "port": 41235,
    "private_key": "-----BEGIN OPENSSH PRIVATE KEY-----\n…",
    "host_key": "[127.0.0.1]:41235 ssh-ed25519 …",
}


class Recorder:
    """Sends requests to a server, and keeps the first answer of each route as its example."""

    def __init__(self, app: FastAPI, client: TestClient, folder: Path) -> None:
        self.examples: dict[str, dict[str, Any]] = {}
        self._routes = [route for route in app.routes if isinstance(route, APIRoute)]
        self._client = client
        self._folder = str(folder)
        self._ids: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def send(self, request: str, body: Any = None, *, key: str = "", **options: Any) -> Any:
        """Send a request, such as `GET /v1/keys`. Return its answer as JSON data."""
        method, path = request.split(" ")
        if key:
            options["headers"] = {**options.get("headers", {}), "authorization": f"Bearer {key}"}
        answer = self._client.request(method, path, json=body, **options)
        assert answer.is_success, f"{request}: {answer.status_code} {answer.text}"
        is_json = bool(answer.content) and answer.headers["content-type"] == JSON
        if body is not None or is_json:
            self._keep(method, path.partition("?")[0], body, answer)
        return answer.json() if is_json else answer.content

    def _keep(self, method: str, path: str, body: Any, answer: Any) -> None:
        route = next(each for each in self._routes if method in (each.methods or ()) and each.path_regex.match(path))
        found = {"status": answer.status_code}
        if body is not None:
            found["request"] = self._without_changing(body)
        if answer.content and answer.headers["content-type"] == JSON:
            found["answer"] = self._without_changing(answer.json())
        self.examples.setdefault(route.name, found)

    def _without_changing(self, data: Any) -> Any:
        """Return data with the same ids, times, secrets and ports in every recording."""
        text = json.dumps(data, ensure_ascii=False).replace(self._folder, "/srv/clerkship")
        for pattern, replacement in _CHANGING:
            text = pattern.sub(replacement, text)
        return _without_changing_fields(json.loads(_ID.sub(self._rename, text)))

    def _rename(self, found: re.Match[str]) -> str:
        if found[0] not in self._ids:
            self._counts[found[1]] += 1
            self._ids[found[0]] = f"{found[1]}{found[2]}{self._counts[found[1]]:016x}"
        return self._ids[found[0]]


def _without_changing_fields(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _CHANGING_FIELDS.get(key, _without_changing_fields(value)) for key, value in data.items()}
    return [_without_changing_fields(each) for each in data] if isinstance(data, list) else data


def record(folder: Path) -> dict[str, dict[str, Any]]:
    """Return an example of each route: its request, if it has a body, and its answer, if it is JSON."""
    server = open_server(folder / "data", Settings(), build_catalog_without_plugins())
    try:
        app = build_app(server)
        key = server.keys.create_person("Ada").key
        with TestClient(app, headers={"authorization": f"Bearer {key}"}) as client:
            recorder = Recorder(app, client, folder)
            solver_key = _set_up(recorder)
            _write(recorder)
            _publish(recorder)
            _run(recorder, solver_key)
        return dict(sorted(recorder.examples.items()))
    finally:
        server.close()


def _set_up(to: Recorder) -> str:
    """Create keys and a solver. Return the key of the solver."""
    for path in ("/healthz", "/readyz"):
        to.send(f"GET {path}")
    key = to.send("POST /v1/keys", {"name": "Grace", "expires_at": "2030-01-01T00:00:00Z"})
    to.send(f"GET /v1/keys/{key['id']}")
    to.send("GET /v1/keys?kind=person&limit=1")
    to.send(f"DELETE /v1/keys/{key['id']}")
    solver = to.send("POST /v1/solvers", {"alias": "robin", "contact_email": "robin@example.org"})
    address = f"/v1/solvers/{solver['id']}"
    to.send(f"PATCH {address}", {"agent_description": "Reads forms."})
    to.send(f"GET {address}")
    to.send("GET /v1/solvers?alias=robin")
    new = to.send(f"POST {address}/api-keys", {"name": "nightly"})
    to.send(f"GET {address}/api-keys")
    other = to.send(f"POST {address}/api-keys", {"name": "old"})
    to.send(f"DELETE {address}/api-keys/{other['id']}")
    return str(new["key"])


def _write(to: Recorder) -> None:
    """Write a benchmark object by object."""
    benchmark = to.send("POST /v1/benchmarks", {"name": "Mail room", "slug": "mail"})["id"]
    within = {"benchmark_id": benchmark}
    made = {
        "environments": to.send("POST /v1/environments", {**within, "name": "desk", "simulators": {}}),
        "datasets": to.send(
            "POST /v1/datasets", {**within, "name": "inbox", "type": "files", "files": {"a.txt": "Dear office"}}
        ),
    }
    desk = made["environments"]["id"]
    made["simulators"] = to.send("POST /v1/simulators", {"environment_id": desk, "name": "drop", "kind": "files"})
    to.send("POST /v1/datasets/generate", {**within, "name": "people", "patients": 3, "seed": 7})
    to.send(
        f"POST /v1/datasets/upload?benchmark_id={benchmark}&name=towns&type=records",
        content=b"id,town\n1,Bern\n",
        headers={"content-type": "text/csv"},
    )
    task = {"name": "File a letter", "environment": "desk", "tags": ["letters"]}
    made["tasks"] = to.send("POST /v1/tasks", {**within, **task, "task_item": {"instruction": "File the letter."}})
    entities = f"/v1/tasks/{made['tasks']['id']}/entities"
    to.send(f"POST {entities}", {"id": "town", "dataset": "towns", "where": {"town": "Bern"}})
    to.send(f"GET {entities}")
    to.send(f"DELETE {entities}/town")
    criterion = {
        "task_id": made["tasks"]["id"],
        "label": "It is filed",
        "assertion": {"file_present": {"path": "f.txt"}},
    }
    made["criteria"] = to.send("POST /v1/criteria", criterion)
    made["benchmarks"] = {"id": benchmark}
    changes = {
        "environments": {"now": "2026-03-02T09:00:00Z"},
        "simulators": {"config": {}},
        "datasets": {"files": {"b.txt": "Dear clerk"}},
        "benchmarks": {"description": "Letters and forms."},
        "tasks": {"timeout": 60},
        "criteria": {"weight": 2},
    }
    for plural, change in changes.items():
        address = f"/v1/{plural}/{made[plural]['id']}"
        found = to.send(f"GET {address}")
        to.send(f"PUT {address}", found)
        to.send(f"PATCH {address}", change)
        query = f"?benchmark_id={benchmark}&limit=1" if plural != "benchmarks" else ""
        to.send(f"GET /v1/{plural}{query}")


def _publish(to: Recorder) -> None:
    """Push the files of two benchmarks, and publish them."""
    for slug, files in (("papers", PAPERS), ("shop", TALK)):
        packed = pack({path: dedent(text).encode() for path, text in files.items()})
        to.send(f"PUT /v1/benchmarks/{slug}/files", content=packed, headers={"content-type": MEDIA_TYPE})
        to.send(f"PUT /v1/benchmarks/{slug}/files/README.md", content=b"# Forms and orders\n")
        to.send(f"POST /v1/benchmarks/{slug}/publish", {"version": 1})
    to.send("GET /v1/published?slug=papers")
    for part in ("", "/manifest"):
        to.send(f"GET /v1/published/papers@1{part}")
    archive = to.send("GET /v1/published/papers@1/archive")
    to.send("PUT /v1/published/papers@1/archive", content=archive)
    to.send("POST /v1/published/papers@1/withdraw", {"reason": "A criterion is wrong."})
    to.send("POST /v1/published/papers@1/restore")


def _run(to: Recorder, solver_key: str) -> None:
    """Work on two benchmark runs as an agent does, and read the results."""
    wanted = {"benchmark": "papers@1", "scored": False, "seed": 7}
    run = to.send("POST /v1/benchmark-runs", wanted, key=solver_key)
    token = run["bearer_token"]
    copy, leave = (f"/v1/task-runs/{each['id']}" for each in sorted(run["task_runs"], key=lambda each: each["name"]))
    to.send(f"POST {copy}/start", {"heartbeat_within": 600}, key=token)
    to.send(f"POST {copy}/heartbeat", key=token)
    to.send(
        f"POST {copy}/sandbox-requests",
        {"request": "send", "sandbox": "drop", "method": "PUT", "path": "/files/out.txt", "body": "TkFNRTogQWRh"},
        key=token,
    )
    to.send(f"POST {copy}/complete", {"answer": "I copied it."}, key=token)
    to.send(f"GET {copy}", key=token)
    to.send(f"GET {copy}/events?after=1&limit=2", key=token)
    found = to.send(f"GET /v1/criterion-runs?task_run_id={copy.rpartition('/')[2]}", key=token)
    to.send(f"GET /v1/criterion-runs/{found['data'][0]['id']}", key=token)
    to.send(f"POST {leave}/cancel", key=token)
    address = f"/v1/benchmark-runs/{run['id']}"
    to.send(f"GET {address}")
    to.send("GET /v1/benchmark-runs?benchmark=papers@1&limit=1")
    rescored = to.send(f"POST {address}/rescore")
    to.send(f"GET {address}/compare/{rescored['id']}")

    run = to.send("POST /v1/benchmark-runs", {"benchmark": "shop@1"})
    talk = f"/v1/task-runs/{run['task_runs'][0]['id']}"
    to.send(f"POST {talk}/start")
    to.send(f"POST {talk}/messages", {"say": "Let me see."})
    to.send(f"GET {talk}/transcript")
    to.send(f"POST /v1/benchmark-runs/{run['id']}/cancel")


def render(examples: dict[str, dict[str, Any]]) -> str:
    """Return the content of the file of examples."""
    return json.dumps(examples, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        EXAMPLES.write_text(render(record(Path(name))), encoding="utf-8")
