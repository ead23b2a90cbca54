"""The examples of the reference: every assertion, step, fault and simulator has one, and it does what it shows."""

import base64
import json
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml

from clerkship.actors.contract import ReplyPart, Say
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.events.agent import AGENT_EVENTS
from clerkship.model.run import CriterionRun
from clerkship.sandbox.handle import Dropped, Sandboxes
from clerkship.sandbox.tools import build_tools
from clerkship.settings import Settings
from clerkship.simulators.cds.handle import Cds, describe_service
from clerkship.simulators.portal.handle import FormFile, Portal
from scripts.reference.examples import load_examples
from tests.model_proxy.provider import KEY, ModelProvider
from tests.payer.policy_samples import FEDERAL_RULE, SPINE_POLICY
from tests.simulators.tables.library import FILES as TABLE_FILES
from tests.workbench import Workbench, written

PAYER = {
    "payers": {"NW001": {"name": "North Pay"}},
    "providers": {"1234567893": {"name": "Cedar Clinic"}},
    "members": [
        {
            "payer": "NW001",
            "member_id": "NW55501",
            "family": "Rivera",
            "given": ["Ana"],
            "birth_date": "1980-02-14",
            "coverages": [{"start": "2026-01-01"}],
        }
    ],
    "claims": [
        {
            "number": "NW900",
            "payer": "NW001",
            "member_id": "NW55501",
            "provider_id": "1234567893",
            "account": "NW-7731",
            "charge": 140,
            "start": "2026-02-10",
            "received": "2026-02-12",
        }
    ],
}
ENVIRONMENT: dict[str, Any] = {
    "name": "example",
    "datasets": ["chart", "notes", "library"],
    "simulators": {
        "advice": {"kind": "cds_service"},
        "chat": {"kind": "chat"},
        "emr": {"kind": "cds"},
        "drop": {"kind": "files"},
        "ehr": {"kind": "fhir"},
        "fax": {"kind": "fax", "config": {"contacts": [{"name": "Riverbend", "number": "+15555550300"}]}},
        "lab": {"kind": "hl7"},
        "desk": {"kind": "messages"},
        "phone": {"kind": "voice"},
        "portal": {"kind": "portal", "config": {"organization": {"npi": "1234567893"}}},
        "clearing": {"kind": "x12"},
    },
    "domains": {"payer": {"kind": "payer", "config": PAYER}},
}
DATASETS = [
    {
        "name": "chart",
        "type": "fhir",
        "records": [
            {"resourceType": "Patient", "id": "p1", "name": [{"family": "Delgado"}], "birthDate": "1965-03-15"},
            {"resourceType": "Patient", "id": "p2", "name": [{"family": "Delgado"}], "birthDate": "1962-11-02"},
        ],
    },
    {"name": "library", "type": "policies", "policies": [{**SPINE_POLICY, "payer": "NW001"}, FEDERAL_RULE]},
    {"name": "notes", "type": "files", "files": {"inbox/note.txt": "The patient feels well again."}},
]
TABLES: dict[str, Any] = {"name": "example", "datasets": ["devices"], "simulators": {"store": {"kind": "tables"}}}
TABLES_DATASET = {
    "name": "devices",
    "type": "tables",
    "tables": {"devices": "devices.json", "loans": "loans.json"},
    "functions": "functions.py",
    "policy": "policy.md",
}
MESSAGE = {
    "hl7.send": {"type": "ADT^A08", "control_id": "SG-1", "segments": "EVN||20260302090000\nPID|1||7||Delgado\nPV1|1|O"}
}
PAYLOADS = {payload.kind: payload for payload in AGENT_EVENTS}


class ScriptedAgent:
    """An agent that does the actions of an example: in the first turn of a conversation, or as a task."""

    def __init__(self, actions: list[dict[str, Any]]) -> None:
        self._actions = actions

    def on_turn(self, message: Any, sandboxes: Sandboxes) -> list[ReplyPart]:
        """Do all actions in the first turn, and return what is said and reported."""
        actions = self._actions if message.turn == 1 else []
        return [part for action in actions if (part := self._do(action, sandboxes)) is not None]

    def on_task(self, task_item: Any, sandboxes: Sandboxes) -> Any:
        """Do all actions, and return the answer."""
        for action in self._actions:
            part = self._do(action, sandboxes)
            if part is not None and not isinstance(part, Say):
                sandboxes.report(part)
        return next((action["answer"] for action in self._actions if "answer" in action), None)

    def _do(self, action: dict[str, Any], sandboxes: Sandboxes) -> ReplyPart | None:
        if "say" in action:
            return Say(**(action["say"] if isinstance(action["say"], dict) else {"text": action["say"]}))
        if "report" in action:
            fields = dict(action["report"])
            return PAYLOADS[fields.pop("kind")](**fields)
        if "wait" in action:
            sandboxes.wait(action["wait"])
        if "call" in action:
            self._call(sandboxes, **action["call"])
        if "sign_in" in action:
            sandboxes.get_as(Portal).browser().sign_in()
        if "page" in action:
            self._use_page(sandboxes, **action["page"])
        if "ask" in action:
            address, key = sandboxes.models["openai"]
            body = {"model": "gpt-4o", "messages": [{"role": "user", "content": action["ask"]}]}
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            request = Request(f"{address}/chat/completions", json.dumps(body).encode(), headers)
            with suppress(HTTPError), urlopen(request) as response:  # an error is the example of a fault
                response.read()
        if "serve" in action:
            self._serve(sandboxes, **action["serve"])
        return None

    def _use_page(self, sandboxes: Sandboxes, path: str, fields: Any = None, file: Any = None) -> None:
        browser = sandboxes.get_as(Portal).browser()
        browser.sign_in()
        files = [FormFile(file["name"], base64.b64decode(file["data"]))] if file else []
        page = browser.open(path) if fields is None else browser.post(path, fields, files)
        assert page.status < 400, page.text

    def _serve(self, sandboxes: Sandboxes, hook: str, cards: list[dict[str, Any]]) -> None:
        with sandboxes.get_as(Cds).serve([describe_service(hook, lambda request: cards, id="svc", description="x")]):
            sandboxes.wait("1m")

    def _call(self, sandboxes: Sandboxes, sandbox: str, operation: str, arguments: dict[str, Any]) -> None:
        handle = sandboxes[sandbox]
        tools = {tool.operation.name: tool for tool in build_tools(sandbox, handle.routes)}
        try:
            reply = handle.send_as_is(tools[operation].build_request(arguments))
        except Dropped:  # an example of a fault
            return
        assert reply.status < 400 or reply.status in (401, 503), reply.body


def _run(
    bench: Workbench, task: dict[str, Any], actions: list[dict[str, Any]], judge: Any = None
) -> list[CriterionRun]:
    """Run a task with an agent that does the actions, and return its criteria."""
    says = any("say" in action for action in actions)
    scenario: dict[str, Any] = {}
    if says:
        scenario = {"starts": "person", "person": {"lines": ["Why is my order late?"]}}
    first = [MESSAGE] if task.get("environment") == "example" and "place" not in task else []
    scenario["steps"] = [*first, *task.pop("steps", [])]
    task |= {"name": "Example", "scenario": scenario}
    environment, datasets = task.pop("place", ENVIRONMENT), [*DATASETS]
    if any(simulator["kind"] == "tables" for simulator in environment["simulators"].values()):
        datasets.append(TABLES_DATASET)
        write_table_files(bench.folder)
    text = yaml.safe_dump({"environment": environment, "datasets": datasets, "task": task}, sort_keys=False)
    bench.write("example.yml", text)
    options = {}
    if judge:
        options["judge"] = f"scripted:{bench.write('../answers.yml', yaml.safe_dump(judge))}"
    with ModelProvider("42") if any("ask" in action for action in actions) else nullcontext() as provider:
        settings = Settings(openai_base_url=provider.url, openai_api_key=KEY) if provider is not None else None
        task_run = bench.run_one(PythonSolver("example", ScriptedAgent(actions)), settings=settings, **options)
    assert task_run.status == "completed", task_run.error
    return written(task_run)


def write_table_files(folder: Path) -> None:
    """Write the files of the dataset of tables."""
    for name in ("devices.json", "loans.json", "functions.py", "policy.md"):
        (folder / name).write_text(TABLE_FILES[f"library/{name}"], encoding="utf-8")


def _find_place(name: str) -> dict[str, Any]:
    """Return the environment of an example that needs another one than most."""
    return {"place": TABLES} if name.startswith("table") else {}


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


def test_every_assertion_step_and_simulator_has_an_example() -> None:
    catalog = build_catalog_without_plugins()
    assert set(load_examples("assertions")) == set(catalog.assertions)
    assert set(load_examples("steps")) == set(catalog.steps)
    assert set(load_examples("simulators")) == set(catalog.simulators)


@pytest.mark.parametrize("name", load_examples("assertions"))
@pytest.mark.parametrize("outcome", ["passes", "fails"])
def test_example_of_an_assertion(bench: Workbench, name: str, outcome: str) -> None:
    example = load_examples("assertions")[name]
    task = {"environment": "example", "criteria": [{"label": name, "assertion": example["example"]}]} | _find_place(
        name
    )
    task |= {"steps": example.get("steps", []), "entities": example.get("entities", [])}
    [criterion] = _run(bench, task, example[outcome], example.get("judge"))
    assert criterion.status == "judged", criterion.detail
    assert criterion.passed == (outcome == "passes"), criterion.detail


@pytest.mark.parametrize("name", load_examples("steps"))
def test_example_of_a_step(bench: Workbench, name: str) -> None:
    example = load_examples("steps")[name]
    criteria = [{"label": name, "assertion": {"event_occurred": example["event"]}}]
    task = {"environment": "example", "steps": [example["example"]], "criteria": criteria} | _find_place(name)
    [criterion] = _run(bench, task, example.get("agent", []))
    assert criterion.passed, criterion.detail


@pytest.mark.parametrize("name", load_examples("simulators"))
def test_example_of_a_simulator(bench: Workbench, name: str) -> None:
    example = load_examples("simulators")[name]
    criteria = [{"label": name, "assertion": {"event_occurred": example["event"]}}]
    task = {"place": example["example"], "criteria": criteria}
    [criterion] = _run(bench, task, example["agent"])
    assert criterion.passed, criterion.detail
