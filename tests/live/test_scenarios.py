"""Scenario files against a real Rasa server, with the command line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from clerkship.model.errors import InputError
from clerkship.rasa.agent import load_rasa
from clerkship.rasa.server import sign_jwt
from clerkship.settings import Settings
from tests.live.bots import HERE, Server

pytestmark = pytest.mark.live


class ScenarioResult(NamedTuple):
    """The result of one scenario."""

    code: int
    said: str
    lines: list[dict[str, Any]]

    def only(self, sort: str) -> list[dict[str, Any]]:
        """Return the events of one kind."""
        return [line for line in self.lines if line["type"] == sort]

    def words(self) -> list[str]:
        events = [line["event"] for line in self.only("event")]
        said = [event for event in events if event["kind"] == "chat.message.sent"]
        return [f"{event['actor']}: {event['payload']['text']}" for event in said]


def run(folder: Path, scenario: str, server: Server, **keys: str) -> ScenarioResult:
    """Run `clerkship run` with these credentials in the environment."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("CLERKSHIP_", "UV_"))}
    keys = {f"CLERKSHIP_{name.upper()}": value for name, value in keys.items()}
    lines, alone = folder / "lines.jsonl", folder / "eval"
    alone.mkdir()
    shutil.copy(HERE / "scenarios" / f"{scenario}.yml", alone)
    command = [sys.executable, "-m", "clerkship", "run", str(alone)]
    done = subprocess.run(
        [*command, "--agent", f"rasa:{server.url}", "--jsonl", str(lines)],
        cwd=folder,
        env=ours | keys,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    said = done.stdout + done.stderr
    text = lines.read_text(encoding="utf-8") if lines.exists() else ""
    for secret in keys.values():
        assert secret not in said + text
    return ScenarioResult(done.returncode, said, [json.loads(line) for line in text.splitlines()])


@pytest.mark.parametrize("scenario", ["order", "buttons", "restart"])
def test_assertions_about_actual_events_pass(desk: Server, tmp_path: Path, scenario: str) -> None:
    ran = run(tmp_path, scenario, desk, rasa_token=desk.token)
    assert ran.code == 0, ran.said


def test_scenario_file_assertions_pass(desk: Server, tmp_path: Path) -> None:
    ran = run(tmp_path, "seed", desk, rasa_token=desk.token)
    assert ran.code == 0, ran.said


def test_stock_bot_passes(stock: Server, tmp_path: Path) -> None:
    ran = run(tmp_path, "stock", stock)
    assert ran.code == 0, ran.said


def test_assertions_about_missing_events_fail(desk: Server, tmp_path: Path) -> None:
    ran = run(tmp_path, "wrong", desk, rasa_token=desk.token)
    assert ran.code == 1, ran.said
    [trial] = ran.only("task_run")
    passed = {criterion["assertion"]: criterion["passed"] for criterion in trial["criteria"]}
    written = ("bot_uttered", "bot_did_not_utter", "sequencing")
    assert passed == {"agent_acted": True, **dict.fromkeys(written, False)}
    assert len(trial["criteria"]) == 5


def test_conversation_with_slots_has_one_greeting(desk: Server, tmp_path: Path) -> None:
    assert run(tmp_path, "order", desk, rasa_token=desk.token).words() == [
        "agent: Welcome to the order desk.",
        "person: hello",
        "agent: Hello Ada!\n\nWhat can I do for you?",
        "person: where is my order A100",
        "agent: One moment.",
        "agent: Order A100 is late, I am sorry.",
        "person: show me the card",
        "agent: ",
        "agent: And here it is.",
        "person: bye",
        "agent: Goodbye!",
    ]


def test_silence_ends_the_conversation_as_agent_silent(desk: Server, tmp_path: Path) -> None:
    ran = run(tmp_path, "silence", desk, rasa_token=desk.token)
    [trial] = ran.only("task_run")
    assert (ran.code, trial["ending"]) == (0, "agent_silent"), ran.said


@pytest.mark.parametrize("sort", ["rasa_jwt", "rasa_jwt_secret"])
def test_jwt_authenticates(desk: Server, tmp_path: Path, sort: str) -> None:
    key = sign_jwt(desk.jwt_secret) if sort == "rasa_jwt" else desk.jwt_secret
    ran = run(tmp_path, "order", desk, **{sort: key})
    assert ran.code == 0, ran.said


@pytest.mark.parametrize("keys", [{}, {"rasa_token": "wrong-token"}, {"rasa_jwt_secret": "wrong-secret"}])
def test_wrong_key_errors_the_run(desk: Server, tmp_path: Path, keys: dict[str, str]) -> None:
    ran = run(tmp_path, "order", desk, **keys)
    assert ran.code == 2, ran.said
    words = " ".join(ran.said.split())
    assert "requires authentication" in words
    assert "CLERKSHIP_RASA_TOKEN" in words


def test_server_without_a_model_is_reported(empty: Server, tmp_path: Path) -> None:
    ran = run(tmp_path, "order", empty)
    assert ran.code == 2, ran.said
    assert "has no model loaded" in " ".join(ran.said.split())
    with pytest.raises(InputError, match="has no model loaded"):
        load_rasa(empty.url, Settings()).capabilities()


def test_capabilities_are_fetched(desk: Server) -> None:
    found = load_rasa(desk.url, Settings(rasa_token=desk.token)).capabilities()
    assert found.engine.startswith("Rasa 3.6.")
    assert found.emits == frozenset({"agent.action.executed", "agent.slot.set", "agent.noted"})
    assert found.domain is not None
    assert found.domain.slots == {
        "order_id": "text",
        "customer_name": "text",
        "is_member": "bool",
        "points": "float",
        "tier": "categorical",
        "basket": "list",
    }
    assert found.domain.flows is None
    assert {"action_look_up_order", "utter_greet", "action_listen"} <= (found.domain.actions or frozenset())
    assert "utter_card" in (found.domain.responses or frozenset())


def test_capabilities_need_the_right_key(desk: Server) -> None:
    with pytest.raises(InputError, match="requires authentication"):
        load_rasa(desk.url, Settings(rasa_token="wrong")).capabilities()
