"""The order support example: each assertion of a scenario file passes and fails, in process and over a Rasa server."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from clerkship.events import agent
from clerkship.model.errors import InputError
from clerkship.model.run import CriterionRun, TaskRun
from clerkship.plugin import Message, Payload, Say, Start
from examples.order_support.bot import FLOWS, FORGOTTEN, RESPONSES, OrderBot
from examples.order_support.rasa_server import RasaServer, serve
from tests.workbench import Workbench, written

EXAMPLE = Path(__file__).parent.parent / "examples" / "order_support"
KNOWN = {"authenticated": True, "account_id": "12345", "order_id": "ORD-9981"}
TOLD = {"chat.message.sent", *(model.kind for model in agent.AGENT_EVENTS if model is not agent.Noted)}
BUTTONS = [
    {"title": "Yes", "payload": "/SetSlots(confirmed=true)"},
    {"title": "No", "payload": "/SetSlots(confirmed=false)"},
]
SEED_SEQUENCE = [
    {"flow_started": "verify_identity"},
    {"action_executed": "action_verify_account"},
    {"slot_was_set": "authenticated"},
    {"flow_completed": "verify_identity"},
    {"flow_started": "check_order_status"},
    {"flow_completed": "check_order_status"},
]


class Case(NamedTuple):
    """A conversation with an assertion that passes, one that fails, and the texts that the failure must have."""

    name: str
    lines: list[str]
    good: Any
    bad: Any
    says: tuple[str, str, int]
    slots: dict[str, Any] = KNOWN


CASES = [
    Case(
        "flow_started",
        ["What is the status?"],
        {"flow_ids": ["check_order_status", "track_shipment"], "operator": "any"},
        {"flow_ids": ["check_order_status", "track_shipment"], "operator": "all"},
        ("track_shipment", "check_order_status", 1),
    ),
    Case(
        "flow_completed",
        ["Cancel my order", "No"],
        {"flow_id": "cancel_order", "flow_step_id": "declined"},
        {"flow_id": "cancel_order", "flow_step_id": "action_cancel_order"},
        ("action_cancel_order", "declined", 2),
    ),
    Case(
        "flow_cancelled",
        ["Log me in", "Never mind"],
        {"flow_id": "verify_identity", "flow_step_id": "ask_pin"},
        {"flow_id": "cancel_order"},
        ("cancel_order", "verify_identity", 2),
    ),
    Case(
        "action_executed",
        ["Hello", "What is the status?"],
        "action_check_order_status",
        "action_check_order_state",
        ("action_check_order_state", "action_check_order_status", 2),
    ),
    Case(
        "slot_was_set",
        ["What is the status?"],
        [{"name": "order_id", "value": "ORD-9981"}, {"name": "order_status"}],
        [{"name": "order_id", "value": "ORD-9981"}, {"name": "order_status", "value": "shipped"}],
        ("shipped", "delayed", 1),
    ),
    Case(
        "slot_was_not_set",
        ["What is the status?"],
        [{"name": "transfer_amount"}, {"name": "order_status", "value": "shipped"}],
        [{"name": "transfer_amount"}, {"name": "order_status"}],
        ("order_status", "delayed", 1),
    ),
    Case(
        "bot_uttered",
        ["Cancel ORD-1155"],
        {"utter_name": "utter_ask_confirmed", "text_matches": "ORD-1155", "buttons": BUTTONS},
        {"utter_name": "utter_ask_confirmed", "text_matches": "ORD-1155", "buttons": BUTTONS[:1]},
        ("/SetSlots(confirmed=true)", "/SetSlots(confirmed=false)", 1),
    ),
    Case(
        "bot_did_not_utter",
        ["Hello", "What is the status?"],
        {"utter_name": "utter_dont_know"},
        {"text_matches": "storm"},
        ("storm", "a storm closed the depot", 2),
    ),
    Case(
        "pattern_clarification_contains",
        ["Hello", "Where is it?"],
        {"flow_ids": ["check_order_status", "track_shipment"], "operator": "all"},
        {"flow_ids": ["check_order_status", "cancel_order"], "operator": "all"},
        ("cancel_order", "track_shipment", 2),
    ),
    Case(
        "generative_response_is_relevant",
        ["Hello", "Why is my order late?"],
        {"utter_source": "utter_order_status_details"},
        {"utter_source": "utter_order_status_details", "threshold": 0.95},
        ("0.95", "0.9", 2),
    ),
    Case(
        "generative_response_is_grounded",
        ["Hello", "Why is my order late?"],
        {"utter_source": "utter_order_status_details"},
        {"utter_source": "utter_order_status_details", "threshold": 0.8},
        ("0.8", "0.5", 2),
    ),
    Case(
        "sequencing",
        ["Check ORD-9981", "12345", "4711"],
        SEED_SEQUENCE,
        [SEED_SEQUENCE[4], SEED_SEQUENCE[0]],
        ("verify_identity", "check_order_status", 1),
        {},
    ),
]
JUDGE = [
    {"about": "relevance", "contains": "storm", "answer": {"reasoning": "It says why.", "score": 0.9}},
    {
        "about": "groundedness",
        "contains": "storm",
        "answer": {
            "statements": [
                {"statement": "A storm closed the depot.", "score": 1, "justification": "The source says so."},
                {"statement": "It comes on Friday.", "score": 0, "justification": "The source says no day."},
            ]
        },
    },
    {"about": "criterion", "answer": {"reasoning": "The reason comes first.", "passed": True}},
]


@pytest.fixture(scope="module")
def rasa() -> Iterator[RasaServer]:
    """One server for all conversations."""
    with serve() as server:
        yield server


def run_case(bench: Workbench, case: Case, agent: Any, *, holds: bool) -> tuple[TaskRun, CriterionRun]:
    """Run the conversation with one assertion."""
    goals = {"assertions": [{case.name: case.good if holds else case.bad}]}
    setup = {"initial_slots": case.slots, "person": {"lines": case.lines}}
    scenario = {"name": case.name, "simulation_context": "You have an order.", "setup": setup, "goals": goals}
    bench.write("case.yml", json.dumps({"scenario": scenario}))
    task_run = bench.run_one(agent, judge=judge(bench)) if "generative" in case.name else bench.run_one(agent)
    [criterion] = written(task_run)
    return task_run, criterion


def judge(bench: Workbench) -> str:
    """A scripted model that judges."""
    path = bench.folder.parent / "judge.yml"
    path.write_text(json.dumps({"answers": JUDGE}), encoding="utf-8")
    return f"scripted:{path}"


def collect_texts(criterion: CriterionRun) -> str:
    """Return all texts of a criterion."""
    return "\n".join([criterion.detail, *(f"{row.expected} {row.actual}" for row in criterion.evidence)])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_assertion_passes(case: Case, bench: Workbench) -> None:
    task_run, criterion = run_case(bench, case, OrderBot, holds=True)
    assert (task_run.verdict, criterion.passed) == ("pass", True), criterion.detail


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_failed_assertion_reports_expected_and_nearest_events(case: Case, bench: Workbench) -> None:
    task_run, criterion = run_case(bench, case, OrderBot, holds=False)
    assert (task_run.verdict, criterion.status, criterion.passed) == ("fail", "judged", False), criterion.detail
    expected, nearest, turn = case.says
    assert expected in collect_texts(criterion)
    assert nearest in collect_texts(criterion)
    assert re.search(rf"\bturn {turn}\b", criterion.detail), criterion.detail


@pytest.mark.parametrize("holds", [True, False], ids=["met", "missed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verdicts_over_a_rasa_server_are_the_same(case: Case, holds: bool, bench: Workbench, rasa: RasaServer) -> None:
    task_run, criterion = run_case(bench, case, f"rasa:{rasa.url}", holds=holds)
    assert task_run.verdict == ("pass" if holds else "fail"), criterion.detail
    assert (criterion.status, criterion.passed) == ("judged", holds)
    if not holds:
        assert all(part in collect_texts(criterion) for part in case.says[:2])


SERVERS_OWN = ("action_listen", "action_session_start", "session_started_metadata")


def agent_events(bench: Workbench, task_run: TaskRun) -> list[str]:
    """Return the messages and the agent's events, without those that only a server reports."""
    found = []
    for event in bench.events(task_run):
        payload = event["payload"]
        what = payload.get("text") or payload.get("name") or payload.get("flow_id") or payload.get("flow_ids")
        if event["kind"] in TOLD and what not in SERVERS_OWN:
            found.append(f"{event['actor']} {event['kind']} {what} {payload.get('value')} {payload.get('buttons')}")
    return found


def test_scenarios_of_the_example_pass_equally_in_process_and_over_rasa(bench: Workbench, rasa: RasaServer) -> None:
    shutil.copytree(EXAMPLE / "eval", bench.folder, dirs_exist_ok=True)
    inside = bench.run(OrderBot)
    assert len(inside) >= 7
    assert {run.task: run.verdict for run in inside} == dict.fromkeys((run.task for run in inside), "pass")
    through = {run.task: run for run in bench.run(f"rasa:{rasa.url}")}
    assert {run.verdict for run in through.values()} == {"pass"}
    for run in inside:
        assert agent_events(bench, through[run.task]) == agent_events(bench, run), run.task


def test_example_with_all_twelve_assertions_passes(bench: Workbench) -> None:
    shutil.copy(EXAMPLE / "judged" / "order_delay.yml", bench.folder)
    task_run = bench.run_one(OrderBot, judge=judge(bench))
    assert [criterion.passed for criterion in written(task_run)] == [True] * 14
    assert task_run.verdict == "pass"


TROUBLES = {
    "slow": ("turn_timed_out", ""),
    "empty": ("agent_silent", ""),
    "crash": ("agent_silent", ""),
    "hang_up": ("agent_failed", "may have been delivered"),
    "no_events": ("agent_failed", "events"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_server_error_ends_the_trial_and_is_not_retried(trouble: str, bench: Workbench) -> None:
    setup = {"person": {"opening": "hello"}, "turn_timeout": 0.5 if trouble == "slow" else 30}
    goals = {"assertions": [{"bot_uttered": {"utter_name": "utter_greet"}}]}
    scenario = {"name": trouble, "simulation_context": "You say hello.", "setup": setup, "goals": goals}
    bench.write("case.yml", json.dumps({"scenario": scenario}))
    with serve() as server:
        server.trouble = trouble
        task_run = bench.run_one(f"rasa:{server.url}")
        assert len(server.heard) == 1
    ending, words = TROUBLES[trouble]
    assert (task_run.verdict, task_run.ending) == ("fail", ending)
    assert words in (task_run.error or task_run.agent_error or "")


@pytest.mark.parametrize(("trouble", "words"), [("html", "Please sign in"), ("no_model", "no model loaded")])
def test_run_is_not_started_if_the_rasa_server_is_not_ready(trouble: str, words: str, bench: Workbench) -> None:
    shutil.copytree(EXAMPLE / "eval", bench.folder, dirs_exist_ok=True)
    with serve() as server:
        server.trouble = trouble
        with pytest.raises(InputError, match=words):
            bench.run(f"rasa:{server.url}")
        assert server.heard == []


def test_domain_matches_the_flows_of_the_bot() -> None:
    domain = yaml.safe_load((EXAMPLE / "domain.yml").read_text(encoding="utf-8"))
    flows = yaml.safe_load((EXAMPLE / "data" / "flows.yml").read_text(encoding="utf-8"))["flows"]
    asked = {slot for flow in FLOWS.values() for slot in flow.asks}
    assert asked | set(FORGOTTEN) < set(domain["slots"])
    assert set(domain["actions"]) == {flow.action for flow in FLOWS.values()}
    assert {name: texts[0]["text"] for name, texts in domain["responses"].items()} == RESPONSES
    assert {flow: known["name"] for flow, known in flows.items()} == {flow: known.name for flow, known in FLOWS.items()}
    for flow, known in FLOWS.items():
        steps = [step["id"] for step in flows[flow]["steps"]]
        assert steps[: len(known.asks) + 1] == [*(f"ask_{slot}" for slot in known.asks), known.action]


def talk(*lines: str, slots: dict[str, Any] | None = None, stubs: dict[str, Any] | None = None) -> list[Any]:
    """Return the events and messages of the bot for these lines."""
    bot = OrderBot()
    said = list(bot.on_start(Start(slots or {}, None, stubs or {})))
    for number, line in enumerate(lines, 1):
        said += bot.on_turn(Message(line, number, "chat"))
    return said


def kinds(told: list[Any]) -> list[type[Payload]]:
    """Return the types of the flow events."""
    return [type(part) for part in told if isinstance(part, Payload) and part.kind.startswith("agent.flow.")]


def test_flow_is_interrupted_by_another_and_resumed() -> None:
    told = talk("another address please", "track it", "12 Elm Road", "no", slots=KNOWN | {"order_id": "ORD-1155"})
    assert kinds(told) == [
        agent.FlowStarted,
        agent.FlowInterrupted,
        agent.FlowStarted,
        agent.FlowCompleted,
        agent.FlowResumed,
        agent.FlowCompleted,
    ]
    assert told[-2:] == [agent.SlotSet(name="new_address"), agent.SlotSet(name="confirmed")]


def test_stubbed_action_is_not_run() -> None:
    stub = {
        "events": [{"event": "slot", "name": "order_status", "value": "shipped"}],
        "responses": [{"text": "It is on its way.", "buttons": [{"title": "Thanks"}]}],
    }
    told = talk("status?", slots=KNOWN, stubs={"action_check_order_status": stub})
    assert told[1:4] == [
        agent.ActionExecuted(name="action_check_order_status"),
        agent.SlotSet(name="order_status", value="shipped"),
        Say("It is on its way.", buttons=({"title": "Thanks"},)),
    ]


def test_wrong_pin_and_unknown_order_reveal_nothing() -> None:
    told = talk("check ORD-9981", "12345", "0000")
    assert agent.SlotSet(name="authenticated", value=False) in told
    assert kinds(told) == [agent.FlowStarted, agent.FlowCancelled]
    texts = [part.text for part in talk("track ORD-4000", slots=KNOWN) if isinstance(part, Say)]
    assert texts == [RESPONSES["utter_order_unknown"]]


def test_parcel_reply_has_a_map() -> None:
    [said] = [part for part in talk("track it", slots=KNOWN) if isinstance(part, Say)]
    assert said.custom == {"type": "map", "title": "Leipzig", "latitude": 51.34, "longitude": 12.37}


def test_scenarios_with_personas_pass(bench: Workbench) -> None:
    shutil.copytree(EXAMPLE, bench.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("eval", "judged", "tests"))
    found = bench.run(OrderBot, person=f"scripted:{EXAMPLE / 'person.json'}")
    assert [(task_run.verdict, task_run.ending) for task_run in found] == [("pass", "person_done")] * 2
