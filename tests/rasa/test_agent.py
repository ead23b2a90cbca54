"""Conversations with a Rasa server: requests, events, and failures."""

import base64
import hashlib
import hmac
import json
import re
import socket
import threading
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from clerkship.engine.build import build_solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.rasa.agent import RasaSolver, load_rasa
from clerkship.service.rescore import rescore
from clerkship.settings import Settings
from tests.actors.servers import Answered, Asked, Served
from tests.rasa.servers import LISTEN, START, Row, SmallRasa, action, bot, reply, slot
from tests.workbench import Workbench

SCENARIO = """
    scenario:
      name: Order
      simulation_context: Somebody waits for a parcel.
      setup:
        {slots}
        turn_timeout: {patience}
        person: {person}
      goals:
        assertions:
          - bot_uttered: {text_matches: bye}
"""
REPLACED = """
            slot_was_not_set: [{name: tier, value: silver}]
          - slot_was_set: [{name: tier, value: silver}]
          - slot_was_set: [{name: tier, value: gold, count: 1}]
          - slot_was_set: [{name: name, value: stranger}]
          - slot_was_not_set: [{name: name}]
          - sequencing: [{slot_was_set: tier}, {action_executed: greet}]
          - sequencing: [{action_executed: greet}, {slot_was_set: name}, {slot_was_set: tier}]
          - event_occurred: {event: agent.slot.set, where: {name: tier, value: silver}}
"""
LINES = "{lines: [{say: Hello, metadata: {channel: web}}, Where is it?]}"
TURNS: list[list[Row]] = [
    [
        slot("mood", "fine"),
        action("action_look"),
        bot("One moment.", "utter_wait"),
        slot("order", 7),
        bot(None, image="i"),
    ],
    [action("utter_bye"), bot("Good bye", "utter_bye", buttons=[{"title": "Ok", "payload": "/ok"}])],
]


class SolverWithoutCapabilities:
    """The Rasa solver without capabilities, because these tests are about the conversation only."""

    def __init__(self, solver: RasaSolver) -> None:
        self.name, self.open = solver.name, solver.open


def scenario(slots: str = "", patience: float = 20, person: str = LINES) -> str:
    slots = slots and f"initial_slots: {slots}"
    return SCENARIO.replace("{slots}", slots).replace("{patience}", str(patience)).replace("{person}", person)


def converse(bench: Workbench, rasa: SmallRasa, slots: str = "", patience: float = 20, **keys: str) -> TaskRun:
    """Run the conversation of two lines."""
    bench.write("a.yml", scenario(slots, patience))
    with rasa.served() as served:
        return bench.run_one(SolverWithoutCapabilities(load_rasa(served.url, Settings(**keys))))  # type: ignore[arg-type]


def outline(bench: Workbench, task_run: TaskRun) -> list[str]:
    """Return the events of a run, one word each."""
    words = []
    for event in bench.events(task_run):
        payload = event["payload"]
        if event["kind"] == "chat.message.sent":
            words.append(f"{event['actor']}: {payload['text']}")
        elif event["source"] == "agent":
            name = payload.get("name") or payload["what"]
            words.append(" ".join((event["actor"], event["kind"].removeprefix("agent."), name)))
    return words


def paths(rasa: SmallRasa) -> list[str]:
    """Return the paths of all requests, without the conversation id."""
    return [f"{asked.method} {re.sub(r'sim-[0-9a-f]+', 'ID', asked.path)}" for asked in rasa.asked]


def test_log_keeps_the_order_of_the_tracker(bench: Workbench) -> None:
    rasa = SmallRasa(TURNS)
    task_run = converse(bench, rasa)
    assert (task_run.verdict, task_run.error, task_run.agent_error) == ("pass", "", "")
    assert outline(bench, task_run) == [
        "person: Hello",
        "agent action.executed action_session_start",
        "agent noted session_started",
        "agent action.executed action_listen",
        "agent slot.set mood",
        "agent action.executed action_look",
        "agent: One moment.",
        "agent slot.set order",
        "agent: ",
        "agent action.executed action_listen",
        "person: Where is it?",
        "agent action.executed utter_bye",
        "agent: Good bye",
        "agent action.executed action_listen",
    ]
    spoken = [
        e["payload"] for e in bench.events(task_run) if e["kind"] == "chat.message.sent" and e["actor"] == "agent"
    ]
    assert [s["utter_name"] for s in spoken] == ["utter_wait", None, "utter_bye"]
    assert spoken[1]["custom"] == {"image": "i"}
    assert spoken[2]["buttons"] == [{"title": "Ok", "payload": "/ok"}]


def test_no_request_before_the_first_turn_without_slots(bench: Workbench) -> None:
    rasa = SmallRasa(TURNS)
    converse(bench, rasa)
    turn = ["POST /webhooks/rest/webhook", "GET /conversations/ID/tracker?include_events=ALL"]
    assert paths(rasa) == turn * 2
    assert [m["message"] for m in rasa.messages] == ["Hello", "Where is it?"]
    assert [m["metadata"] for m in rasa.messages] == [
        {"is_simulation": True, "channel": "web"},
        {"is_simulation": True},
    ]
    assert len({m["sender"] for m in rasa.messages}) == 1


def test_slots_are_set_after_session_start_and_greeting_appears_once(bench: Workbench) -> None:
    start = [START[0], bot("Welcome"), START[1], slot("tier", "silver"), LISTEN]
    rasa = SmallRasa(TURNS, start)
    task_run = converse(bench, rasa, "{tier: gold, points: 3}")
    assert paths(rasa)[:4] == [
        "POST /webhooks/rest/webhook",
        "GET /conversations/ID/tracker?include_events=ALL",
        "POST /conversations/ID/tracker/events",
        "GET /conversations/ID/tracker?include_events=ALL",
    ]
    assert rasa.messages[0]["message"] == "/session_start"
    assert rasa.messages[0]["metadata"] == {"is_simulation": True}
    sent = json.loads(rasa.asked[2].body)
    assert sent == [slot("tier", "gold"), slot("points", 3)]
    assert outline(bench, task_run)[:9] == [
        "agent action.executed action_session_start",
        "agent: Welcome",
        "agent noted session_started",
        "agent slot.set tier",
        "agent action.executed action_listen",
        "scenario slot.set tier",
        "scenario slot.set points",
        "person: Hello",
        "agent slot.set mood",
    ]


def test_slots_that_the_scenario_replaces_do_not_count_as_set(bench: Workbench) -> None:
    start = [START[0], slot("tier", "silver"), action("greet"), slot("name", "stranger"), LISTEN]
    text = scenario("{tier: gold}").replace("bot_uttered: {text_matches: bye}", REPLACED.strip())
    bench.write("a.yml", text)
    failed: dict[str | None, list[str]] = {
        None: ["slot_was_set(tier='silver')", "slot_was_not_set(name)", "sequencing(2 steps)"],
        "rasa": ["slot_was_not_set(name)"],
    }
    for compat, labels in failed.items():
        with SmallRasa(TURNS, start).served() as served:
            solver: Any = SolverWithoutCapabilities(load_rasa(served.url, Settings()))
            task_run = bench.run_one(solver, compat=compat)
        again = rescore(bench.store, task_run.run, RegisteredCatalog())
        for graded in (task_run, *bench.store.task_runs(again.run.id)):
            assert [criterion.label for criterion in graded.criteria if not criterion.passed] == labels


def test_conversation_id_is_in_the_sidecar_and_not_in_the_log(bench: Workbench) -> None:
    rasa = SmallRasa(TURNS)
    task_run = converse(bench, rasa)
    [name] = rasa.trackers
    assert orjson.loads(bench.store.sidecar(task_run))["conversation_id"] == name
    assert not any(name in json.dumps(event) for event in bench.events(task_run))


def test_each_trial_has_its_own_conversation(bench: Workbench) -> None:
    bench.write("a.yml", scenario())
    rasa = SmallRasa(TURNS + TURNS)
    with rasa.served() as served:
        bench.run(SolverWithoutCapabilities(load_rasa(f"{served.url}/", Settings())), trials=2, concurrency=1)
    assert [len(tracker) for tracker in rasa.trackers.values()] == [14, 14]


def test_channel_replies_are_used_if_the_tracker_has_none(bench: Workbench) -> None:
    def answers(asked: Asked) -> Answered:
        return reply([{"recipient_id": "x", "text": "bye", "buttons": [{"title": "Ok"}]}, {"custom": {"a": 1}}])

    task_run = converse(bench, SmallRasa(webhook=answers))
    assert outline(bench, task_run) == [
        "person: Hello",
        "agent: bye",
        "agent: ",
        "person: Where is it?",
        "agent: bye",
        "agent: ",
    ]
    assert task_run.verdict == "pass"


def test_no_reply_and_no_event_is_silence(bench: Workbench) -> None:
    bench.write("a.yml", scenario(person="{opening: Hello, fallback: Well?}"))
    with SmallRasa(webhook=lambda asked: reply([])).served() as served:
        task_run = bench.run_one(SolverWithoutCapabilities(load_rasa(served.url, Settings())))
    assert (task_run.status, task_run.ending) == ("completed", "agent_silent")
    assert (task_run.error, task_run.agent_error) == ("", "")
    assert outline(bench, task_run) == ["person: Hello"]


def test_unreadable_events_are_counted_in_the_sidecar(bench: Workbench) -> None:
    odd: list[Row] = [{"event": "from_the_future"}, {"event": "slot", "name": None}, bot("bye")]
    task_run = converse(bench, SmallRasa([odd, odd]))
    assert task_run.verdict == "pass"
    assert orjson.loads(bench.store.sidecar(task_run))["tracker_events_skipped"] == {"from_the_future": 2, "slot": 2}


def test_unreachable_server_is_reported_with_what_was_not_sent(bench: Workbench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    bench.write("a.yml", scenario())
    with pytest.raises(InputError, match=r"cannot be reached.*is the server running there"):
        bench.run_one(f"rasa:http://127.0.0.1:{port}")  # it is asked before anything runs
    task_run = bench.run_one(SolverWithoutCapabilities(load_rasa(f"http://127.0.0.1:{port}", Settings())))
    assert task_run.ending == "agent_failed"
    assert f"127.0.0.1:{port} cannot be reached" in task_run.agent_error
    assert "turn 1 was not delivered" in task_run.agent_error


def test_turn_is_not_resent_after_a_broken_connection(bench: Workbench) -> None:
    rasa = SmallRasa(webhook=lambda asked: None)
    task_run = converse(bench, rasa)
    assert task_run.ending == "agent_failed"
    assert "closed the connection" in task_run.agent_error
    assert "turn 1 may have been delivered, and is not sent again" in task_run.agent_error
    assert paths(rasa) == ["POST /webhooks/rest/webhook"]


def test_truncated_reply_is_an_error(bench: Workbench) -> None:
    rasa = SmallRasa(webhook=lambda asked: (200, {"Content-Length": "1000", "Connection": "close"}, b"[{"))
    task_run = converse(bench, rasa)
    assert "turn 1 may have been delivered" in task_run.agent_error
    assert len(paths(rasa)) == 1


def test_timed_out_turn_is_sent_once_and_reported_as_unanswered(bench: Workbench) -> None:
    released = threading.Event()

    def hangs(asked: Asked) -> Answered:
        released.wait(30)
        return reply([])

    rasa = SmallRasa(webhook=hangs)
    try:
        task_run = converse(bench, rasa, patience=0.3)
    finally:
        released.set()
    assert task_run.ending == "turn_timed_out"
    assert len(paths(rasa)) == 1
    facts = orjson.loads(bench.store.sidecar(task_run))
    assert facts["unanswered"].startswith("turn 1 was sent and not answered: it may have been delivered")


def _html(asked: Asked) -> Answered:
    return reply(b"<html><body>Welcome to nginx!</body></html>", kind="text/html")


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"webhook": _html}, "its REST channel did not answer with JSON: '<html>"),
        ({"webhook": lambda asked: reply({"text": "hi"})}, "with something other than a list"),
        ({"webhook": lambda asked: reply(b"boom", 500)}, "answered /webhooks/rest/webhook with status 500: 'boom'"),
        ({"tracker": _html}, "its tracker did not answer with JSON: '<html>"),
        ({"tracker": lambda asked: reply({"sender_id": "x"})}, "its tracker has no list of `events`"),
        ({"tracker": lambda asked: reply({"events": None})}, "its tracker has no list of `events`"),
        ({"tracker": lambda asked: reply([])}, "its tracker has no list of `events`"),
        ({"tracker": lambda asked: None}, "its tracker could not be read"),
        (
            {"webhook": lambda asked: (302, {"Location": "https://h/x"}, b"")},
            "/webhook to https://h/x; redirects are not followed",
        ),
        ({"webhook": lambda asked: reply([{"text": "x" * 100_001}])}, "a reply of 100,001 characters"),
    ],
)
def test_invalid_answer_is_an_agent_error(bench: Workbench, others: dict[str, Any], words: str) -> None:
    task_run = converse(bench, SmallRasa(**others))
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")
    assert words in task_run.agent_error


def test_too_large_reply_is_rejected(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.rasa.agent.MAX_REPLY_BYTES", 1000)
    task_run = converse(bench, SmallRasa(tracker=lambda asked: reply(b"[" + b"1," * 5_000_000)))
    assert "answers with more than 1,000 bytes" in task_run.agent_error


@pytest.mark.parametrize(
    ("status", "words", "hint"),
    [
        (401, "requires authentication (401 at", "CLERKSHIP_RASA_TOKEN"),
        (403, "denies access (403 at", "role': 'admin'"),
        (404, "has no such endpoint (404 at", "--enable-api"),
        (409, "has no model loaded (409 at", "train a model"),
    ],
)
def test_setup_errors_of_the_server_error_the_run(bench: Workbench, status: int, words: str, hint: str) -> None:
    task_run = converse(bench, SmallRasa(TURNS, tracker=lambda asked: reply({"status": "failure"}, status)))
    assert (task_run.status, task_run.agent_error) == ("errored", "")
    assert words in task_run.error
    assert hint in task_run.error
    assert bench.exit_code() == 2


def test_failure_to_set_slots_ends_the_run_before_the_first_turn(bench: Workbench) -> None:
    rasa = SmallRasa(TURNS, events=lambda asked: reply({"reason": "BadRequest"}, 400))
    task_run = converse(bench, rasa, "{tier: gold}")
    assert "/tracker/events with status 400" in task_run.agent_error
    assert len(rasa.messages) == 1


def test_slots_not_stored_by_the_server_are_an_error(bench: Workbench) -> None:
    task_run = converse(bench, SmallRasa(TURNS, events=lambda asked: reply({"events": []})), slots="{a: 1, b: x}")
    assert task_run.agent_error == "its tracker did not store the initial slots a, b"


def test_session_and_model_ids_are_not_logged(bench: Workbench) -> None:
    heads = []
    for session in ("one", "two"):
        rows = [{**row, "metadata": {**row.get("metadata", {}), "session_id": session}} for row in TURNS[1]]
        heads.append(converse(bench, SmallRasa([rows, rows])).head)
    assert heads[0] == heads[1]


def test_token_is_not_in_client_logs(bench: Workbench, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        converse(bench, SmallRasa(TURNS), rasa_token="topsecret")
    assert "token=…" in caplog.text
    assert "topsecret" not in caplog.text


def test_token_is_only_in_the_query_of_each_request(bench: Workbench) -> None:
    token = "to&ken/=+hush"

    def refuses(asked: Asked) -> Answered:
        return reply(asked.path.encode() + b" " + token.encode(), 400)

    rasa = SmallRasa(TURNS, events=refuses)
    task_run = converse(bench, rasa, "{tier: gold}", rasa_token=token)
    assert len(rasa.asked) == 3
    assert all(parse_qs(urlsplit(asked.path).query)["token"] == [token] for asked in rasa.asked)
    assert "[key]" in task_run.agent_error
    kept = json.dumps(bench.events(task_run)) + task_run.model_dump_json() + bench.store.sidecar(task_run).decode()
    assert "hush" not in kept


def test_jwt_is_signed_with_the_secret(bench: Workbench) -> None:
    rasa = SmallRasa(TURNS)
    converse(bench, rasa, rasa_jwt_secret="hush")
    bearers = {a.headers["authorization"] for a in rasa.asked}
    [bearer] = bearers
    head, claims, signature = bearer.removeprefix("Bearer ").split(".")
    assert json.loads(_unpadded(head)) == {"alg": "HS256", "typ": "JWT"}
    assert json.loads(_unpadded(claims)) == {"user": {"username": "clerkship", "role": "admin"}}
    assert _unpadded(signature) == hmac.digest(b"hush", f"{head}.{claims}".encode(), hashlib.sha256)


def _unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_given_jwt_is_sent_unchanged(bench: Workbench) -> None:
    rasa = SmallRasa(TURNS, tracker=lambda asked: reply(asked.headers["authorization"].encode(), 500))
    task_run = converse(bench, rasa, rasa_jwt="a.b.hush")
    assert rasa.asked[0].headers["authorization"] == "Bearer a.b.hush"
    assert "'Bearer [key]'" in task_run.agent_error


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("rasa:", "is not an address"),
        ("rasa:localhost:5005", "is not an address"),
        ("rasa:http://h:5005?token=hush", "the address may not have a query"),
        ("rasa:https://me:hush@h", "contains a password"),
    ],
)
def test_invalid_address_is_rejected_before_the_run(reference: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        build_solver(reference, RegisteredCatalog(), Settings())
    assert "hush" not in str(caught.value)


def test_agent_name_is_the_address_without_the_channel() -> None:
    for rest in ("https://h:5005", "https://h:5005/", "https://h:5005/webhooks/rest/webhook"):
        solver = build_solver(f"rasa:{rest}", RegisteredCatalog(), Settings(rasa_token="hush"))
        assert isinstance(solver, RasaSolver)
        assert solver.name == "rasa:https://h:5005"
        assert "hush" not in repr(vars(solver))


def test_stubs_are_rejected(bench: Workbench) -> None:
    bench.write(
        "a.yml",
        """
        environment: {name: talk, simulators: {chat: {kind: chat}}}
        task:
          name: Stubbed
          scenario: {starts: person, person: {lines: [Hi]}, stubs: {action_pay: {events: []}}}
        """,
    )
    with SmallRasa(TURNS).served() as served:
        task_run = bench.run_one(SolverWithoutCapabilities(load_rasa(served.url, Settings())))
    assert task_run.status == "errored"
    assert "so stubs have no effect: action_pay" in task_run.error


def test_task_without_a_conversation_is_rejected(bench: Workbench) -> None:
    bench.write("a.yml", "task: {name: Work}")
    with Served(SmallRasa()) as served:
        task_run = bench.run_one(SolverWithoutCapabilities(load_rasa(served.url, Settings())))
    assert "has no on_task" in task_run.error
    assert served.asked == []
