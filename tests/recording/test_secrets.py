"""Secrets from every source must not reach a cassette."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from clerkship.settings import Settings, find_secrets
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import KEY, said
from tests.recording.test_runs import go, lines, passing, told, who
from tests.workbench import Workbench, written

CODE = "PLUM-4471-CUSTOMER"
SERVICE = "svc-0123456789abcdef"
BEARER = "Bearer abcdefghijklmnopqrstuvwxyz012345"
RASA = "rasa-token-of-a-server"
SCENARIO = """
scenario:
  name: Late order
  simulation_context: You are in a hurry. Your code is ${CUSTOMER_CODE}.
  setup:
    initial_slots: {code: "${CUSTOMER_CODE}"}
    person: {lines: ["My code is ${CUSTOMER_CODE}. Where is my order?", Why?]}
  goals:
    criteria: ["It repeats the code ${CUSTOMER_CODE}", It is polite]
"""


def chatty(message: Any, sandboxes: Any) -> str:
    """Return everything that the agent knows."""
    [box] = sandboxes.values()
    return f"{message.text} {box.token} {box.url} {SERVICE} Authorization: {BEARER} {KEY} {RASA}"


def echo(asked: Asked) -> Answered:
    """Return what the server was sent, including the key."""
    body = json.loads(asked.body)
    if "polite" in body["messages"][1]["content"].splitlines()[-1] or len(body["messages"]) > 2:
        return said(f"no JSON, but {asked.headers['authorization']} {SERVICE} {CODE}")
    return passing(f"{asked.headers['authorization']} {SERVICE} {CODE} {body['messages'][1]['content']}")


@pytest.fixture
def planted(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """Write a scenario with a machine-specific value, and set secrets in the environment."""
    monkeypatch.setenv("CUSTOMER_CODE", CODE)
    monkeypatch.setenv("SOME_SERVICE_TOKEN", SERVICE)
    bench.write("late.yml", SCENARIO)
    return bench


def recorded(bench: Workbench) -> bytes:
    """Return the bytes of all cassettes."""
    found = [path.read_bytes() for path in bench.folder.rglob("*.jsonl")]
    assert found
    return b"".join(found)


SETTINGS = Settings(timeout=20, openai_api_key=KEY, rasa_token=RASA)


def test_no_secret_reaches_a_cassette(planted: Workbench) -> None:
    with Served(echo) as served:
        task_run = go(planted, chatty, SETTINGS, judge=who(served), tape="record", tapes_agent=True)
    assert [criterion.status for criterion in written(task_run)] == ["judged", "error"]
    data = recorded(planted)
    for secret in (KEY, SERVICE, CODE, BEARER, RASA):
        assert secret.encode() not in data
    assert not re.search(rb"clk_sbx_[\w-]{8}|/pg-[0-9a-f]{16}|127\.0\.0\.1:\d+/pg-", data)
    assert b"${CUSTOMER_CODE}" in data
    [good, bad] = sorted(lines(planted), key=lambda line: "failed" in line)
    assert "[secret]" in good["answer"]["reasoning"]
    assert "gave no answer" in bad["failed"]
    turn = lines(planted, "turn")[0]
    assert turn["heard"]["text"] == "My code is ${CUSTOMER_CODE}. Where is my order?"
    assert "[token] http://[address]/[playground]/" in turn["parts"][0]["say"]["text"]


def test_replay_works_on_a_machine_with_other_values(planted: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    with Served(echo) as served:
        first = go(planted, chatty, SETTINGS, judge=who(served), tape="record", tapes_agent=True)
    before = recorded(planted)
    monkeypatch.setenv("CUSTOMER_CODE", "QUINCE-9")
    monkeypatch.delenv("SOME_SERVICE_TOKEN")

    def careful(message: Any, sandboxes: Any) -> str:
        return (
            chatty(message, sandboxes).replace(SERVICE, "[secret]").replace(KEY, "[secret]").replace(RASA, "[secret]")
        )

    again = go(planted, careful, Settings(timeout=20), judge=who(served), tape="replay")
    assert (again.error, told(planted).replayed) == ("", 2)
    assert [criterion.status for criterion in written(again)] == ["judged", "error"]
    assert again.criteria[0].label == first.criteria[0].label == "It repeats the code ${CUSTOMER_CODE}"
    assert CODE not in again.model_dump_json()
    assert recorded(planted) == before


def test_agents_messages_are_replayed_with_local_values(planted: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    with Served(echo) as served:
        go(planted, lambda message: f"You said {message.text}, {CODE}", SETTINGS, judge=who(served), tape="record")
        kept = planted.folder / "cassettes" / "late.jsonl"
        kept.unlink()
        go(
            planted,
            lambda message: f"Not a name: ${{CUSTOMER_CODE}}, but {CODE}",
            SETTINGS,
            judge=who(served),
            tape="record",
            tapes_agent=True,
        )
    monkeypatch.setenv("CUSTOMER_CODE", "QUINCE-9")
    [task_run] = planted.run("recorded", judge=who(served), tape="replay")
    said_then = [event["payload"]["text"] for event in planted.events(task_run) if event["kind"] == "chat.message.sent"]
    assert task_run.error == ""
    assert "Not a name: ${CUSTOMER_CODE}, but QUINCE-9" in said_then
    assert "My code is ${CUSTOMER_CODE}. Where is my order?" in said_then


def test_secrets_are_recognized_by_setting_and_by_name(tmp_path: Path) -> None:
    found = find_secrets(
        Settings(openai_api_key="a", webhook_secret="b"),
        {"MY_API_KEY": "c", "TOKEN": "d", "DB_PASSWORD": "e", "KEYBOARD": "f", "MONKEY": "g", "STRIPE_SECRET": "h"},
    )
    assert sorted(value for value in found.values() if value) == ["a", "b", "c", "d", "e", "h"]
