"""Runs of bots over HTTP: what is stored, and repeating it with the same requests."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.cli.app import run as run_command
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.report.jsonl import FORMAT
from clerkship.report.labels import rerun_command
from clerkship.service.exporting import write_reports
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.report_targets import ReportTargets
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import rescore
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import execute
from clerkship.service.testing import ClerkshipFixture
from clerkship.settings import Settings, find_secrets, load_settings
from tests.actors.servers import Answered, Asked, Served
from tests.service.forks import fork
from tests.workbench import CATALOG, Workbench

MESSAGE = '{"message": "{{ text }}", "user": "{{ session }}"}'
KEY = "sk-4f9a81c2d7e0"
TALK = """
    environment: {name: desk, now: 2026-03-02T09:00:00-05:00, simulators: {chat: {kind: chat}}}
    task:
      name: Keep notes
      scenario:
        starts: person
        person: {lines: [one, two, three]}
      criteria:
        - {label: answers, assertion: {bot_uttered: {text_matches: heard}}}
"""


def echo(asked: Asked) -> Answered:
    """Repeat the message, and the key of the request, as a careless bot does."""
    sent = json.loads(asked.body)
    text = sent["message"] if "message" in sent else sent["messages"][-1]["content"]
    reply = {"reply": {"text": f"heard {text} with {asked.headers.get('authorization', 'no key')}"}}
    return 200, {"Content-Type": "application/json"}, json.dumps(reply).encode()


def sent(served: Served) -> list[dict[str, Any]]:
    """Return the JSON of the messages that a bot received."""
    return [json.loads(asked.body) for asked in served.asked if asked.method == "POST"]


def replies(bench: Workbench, task_run: TaskRun) -> list[str]:
    """Return what the agent said, in order."""
    events = [event for event in bench.events(task_run) if event["kind"] == "chat.message.sent"]
    return [event["payload"]["text"] for event in events if event["actor"] == "agent"]


def everything_stored(bench: Workbench, run: str) -> bytes:
    """Return the record of a run, its trials and its logs."""
    trials = bench.store.task_runs(run)
    logs = [line for task_run in trials for line in bench.store.log(task_run)]
    records = [bench.store.run(run).model_dump_json().encode(), *(one.model_dump_json().encode() for one in trials)]
    return b"\n".join([*records, *logs, bench.store.path.read_bytes()])


def run_bot(bench: Workbench, served: Served, settings: Settings | None = None, **options: Any) -> str:
    """Run the conversation with a bot; return the id of the run."""
    bench.write("a.yml", TALK)
    given: dict[str, Any] = {"agent_request": MESSAGE, "agent_reply": "reply.text"} if settings is None else {}
    request = RunRequest(path=bench.folder, agent=f"{served.url}/chat", **given, **options)
    plan = plan_run(request, settings or Settings(timeout=20), CATALOG)
    return execute(plan, bench.store, CATALOG).run.id


def test_rerun_sends_the_same_requests(bench: Workbench) -> None:
    with Served(echo) as served:
        first = run_bot(bench, served)
        again = execute(plan_rerun(bench.store, first, CATALOG, Settings(timeout=20)), bench.store, CATALOG).run
    assert [one["message"] for one in sent(served)] == ["one", "two", "three"] * 2
    assert sent(served)[0]["user"] != sent(served)[3]["user"]
    assert again.bot_format == bench.store.run(first).bot_format
    [task_run] = bench.store.task_runs(again.id)
    assert replies(bench, task_run)[0] == "heard one with no key"


def test_request_of_the_settings_is_stored_with_the_run(bench: Workbench) -> None:
    variables = {
        "CLERKSHIP_AGENT_REQUEST": MESSAGE,
        "CLERKSHIP_AGENT_REPLY": "reply.text",
        "CLERKSHIP_AGENT_HEADERS": f"Authorization: Bearer {KEY}",
    }
    with Served(echo) as served:
        first = run_bot(bench, served, load_settings(variables))
        stored = bench.store.run(first).bot_format
        assert stored is not None
        assert (stored.reply, stored.headers) == ("reply.text", {"Authorization": ""})
        other = Settings(timeout=20, agent_request='{"other": "{{ text }}"}', agent_headers=f"Authorization: {KEY}")
        execute(plan_rerun(bench.store, first, CATALOG, other), bench.store, CATALOG)
    assert [asked.headers["authorization"] for asked in served.asked if asked.method == "POST"] == [
        *[f"Bearer {KEY}"] * 3,
        *[KEY] * 3,
    ]
    assert all("message" in one for one in sent(served))
    assert KEY.encode() not in everything_stored(bench, first)


def test_run_in_our_own_format_ignores_the_request_of_later_settings(bench: Workbench) -> None:
    bench.write("a.yml", TALK)

    def ours(asked: Asked) -> Answered:
        return 200, {}, orjson.dumps({"say": f"heard {json.loads(asked.body)['text']}"})

    with Served(ours) as served:
        assert bench.run_one(f"{served.url}/chat").verdict == "pass"
        settings = Settings(timeout=20, agent_request=MESSAGE)
        again = execute(plan_rerun(bench.store, "latest", CATALOG, settings), bench.store, CATALOG).run
    assert (again.bot_format, bench.store.task_runs(again.id)[0].verdict) == (None, "pass")


def test_secret_of_a_header_is_nowhere_in_store_and_reports(bench: Workbench, tmp_path: Path) -> None:
    with Served(echo) as served:
        first = run_bot(bench, served, agent_headers=(f"Authorization: Bearer {KEY}", "Accept-Language: de"))
    assert f"Bearer {KEY}" in [asked.headers.get("authorization") for asked in served.asked]
    assert KEY.encode() not in everything_stored(bench, first)
    [task_run] = bench.store.task_runs(first)
    assert replies(bench, task_run)[0] == "heard one with [Authorization header]"
    targets = ReportTargets(html=tmp_path / "r.html", jsonl=tmp_path / "r.jsonl", markdown=tmp_path / "r.md")
    for path in write_reports(bench.store, first, targets).values():
        assert KEY not in path.read_text(encoding="utf-8")
    record = orjson.loads((tmp_path / "r.jsonl").read_bytes().splitlines()[0])
    assert record["format"] == FORMAT
    assert record["bot_format"]["headers"] == {"Authorization": "", "Accept-Language": "de"}


def test_secrets_of_the_settings_are_redacted_one_by_one() -> None:
    secrets = find_secrets(Settings(agent_headers=f'{{"X-Key": "{KEY}", "Authorization": "Basic dXNlcjpodXNo"}}'), {})
    assert {KEY, "Basic dXNlcjpodXNo", "dXNlcjpodXNo"} <= set(secrets.values())
    assert KEY not in repr(Settings(agent_headers=KEY))
    assert KEY not in repr(RunRequest(path=Path(), agent="http://host", agent_headers=(f"X-Key: {KEY}",)))


def test_variable_in_a_header_is_stored_by_name(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRACTICE_BOT_KEY", KEY)
    headers = ("Authorization: Bearer ${PRACTICE_BOT_KEY}",)
    request = '{"message": "{{ text }}", "tenant": "${PRACTICE_BOT_KEY}"}'
    with Served(echo) as served:
        first = run_bot(bench, served, Settings(agent_request=request, agent_reply="reply.text"), agent_headers=headers)
        assert sent(served)[0]["tenant"] == KEY
        execute(plan_rerun(bench.store, first, CATALOG, Settings(timeout=20)), bench.store, CATALOG)
        assert served.asked[-1].headers["authorization"] == f"Bearer {KEY}"
        monkeypatch.delenv("PRACTICE_BOT_KEY")
        with pytest.raises(InputError, match="PRACTICE_BOT_KEY is not set"):
            plan_rerun(bench.store, first, CATALOG, Settings())
    assert KEY.encode() not in everything_stored(bench, first)
    stored = bench.store.run(first).bot_format
    assert stored is not None
    assert stored.headers == {"Authorization": "Bearer ${PRACTICE_BOT_KEY}"}


def test_rerun_needs_the_header_that_is_not_stored(bench: Workbench) -> None:
    with Served(echo) as served:
        first = run_bot(bench, served, agent_headers=(f"X-Api-Key: {KEY}",))
        with pytest.raises(InputError, match="the header `X-Api-Key` to its agent, and its value is not stored"):
            plan_rerun(bench.store, first, CATALOG, Settings())
        settings = Settings(timeout=20, agent_headers='{"x-api-key": "another", "x-other": "1"}')
        execute(plan_rerun(bench.store, first, CATALOG, settings), bench.store, CATALOG)
    assert served.asked[-1].headers["x-api-key"] == "another"
    assert "x-other" not in served.asked[-1].headers


class ProcessKilled(Exception):
    """Ends a run as a killed process would."""


def test_resume_sends_the_same_requests(bench: Workbench) -> None:
    bench.write("a.yml", TALK)

    def watch(task_run: TaskRun) -> None:
        raise ProcessKilled

    with Served(echo) as served:
        request = RunRequest(
            path=bench.folder,
            agent=f"{served.url}/chat?tenant=1",
            agent_request=MESSAGE,
            agent_reply="reply.text",
            trials=3,
            concurrency=1,
        )
        plan = plan_run(request, Settings(timeout=20), CATALOG)
        with pytest.raises(ProcessKilled):
            execute(plan, bench.store, CATALOG, [watch])
        with pytest.raises(InputError, match="the query is not stored"):
            plan_resume(bench.store, plan.run.id, CATALOG, Settings())
        address = f"{served.url}/chat?tenant=1"
        resumed = plan_resume(bench.store, plan.run.id, CATALOG, Settings(timeout=20), agent=address)
        resume(resumed, bench.store, CATALOG)
    task_runs = bench.store.task_runs(plan.run.id)
    assert [(one.verdict, one.agent_error) for one in task_runs] == [("pass", "")] * 3
    assert {asked.path for asked in served.asked if asked.method == "POST"} == {"/chat?tenant=1"}


def test_fork_gives_a_stateless_bot_the_messages_so_far(bench: Workbench) -> None:
    with Served(echo) as served:
        run_bot(bench, served, Settings(agent_request='{"messages": "{{ messages }}"}', agent_reply="reply.text"))
        count = len(sent(served))
        task_run = fork(bench, turn=3)
    assert task_run.agent_error == ""
    [last] = sent(served)[count:]
    assert [message["content"] for message in last["messages"]] == [
        *("one", "heard one with no key", "two", "heard two with no key", "three"),
    ]


def test_fork_sends_the_earlier_messages_again_to_a_bot_with_sessions(bench: Workbench) -> None:
    with Served(echo) as served:
        run_bot(bench, served)
        count = len(sent(served))
        task_run = fork(bench, turn=3)
    assert (task_run.verdict, [one["message"] for one in sent(served)[count:]]) == ("pass", ["one", "two", "three"])


def test_rescored_run_keeps_the_request(bench: Workbench) -> None:
    with Served(echo) as served:
        first = run_bot(bench, served)
    scored = rescore(bench.store, first, CATALOG)
    assert scored.run.bot_format == bench.store.run(first).bot_format is not None


def test_bot_is_recorded_and_replayed_without_requests(bench: Workbench) -> None:
    with Served(echo) as served:
        recorded = run_bot(bench, served, tape="record", tapes_agent=True)
    bench.write("a.yml", TALK)
    replayed = bench.run_one("recorded", tape="replay")
    [first] = bench.store.task_runs(recorded)
    assert (replayed.verdict, replayed.head) == ("pass", first.head)


def test_shown_command_repeats_the_run_with_its_request(bench: Workbench) -> None:
    with Served(echo) as served:
        first = run_bot(bench, served, agent_headers=(f"Authorization: {KEY}", "X-User: {{ session }}"))
    command = rerun_command(bench.store.run(first))
    assert """--request '{"message":"{{ text }}","user":"{{ session }}"}' --reply reply.text""" in command
    assert "--header 'Authorization: …' --header 'X-User: {{ session }}'" in command
    with pytest.raises(InputError, match="the value of `Authorization` is not stored with a run"):
        run_bot(bench, served, agent_headers=("Authorization: …",))


def test_fixture_takes_the_request_as_data(bench: Workbench, tmp_path: Path) -> None:
    bench.write("a.yml", TALK)
    fixture = ClerkshipFixture(tmp_path / "fixture.db", [bench.folder])
    with Served(echo) as served:
        result = fixture.run(
            "a.yml",
            f"{served.url}/chat",
            agent_request={"message": "{{ text }}"},
            agent_reply="reply.text",
            agent_headers=f"Authorization: Bearer {KEY}",
        )
    fixture.close()
    assert result.passed
    assert sent(served)[0] == {"message": "one"}
    assert served.asked[-1].headers["authorization"] == f"Bearer {KEY}"


def test_options_of_a_bot_are_refused_for_other_agents(bench: Workbench) -> None:
    bench.write("a.yml", TALK)
    with pytest.raises(InputError, match="--reply is for agents at an address, not for nop"):
        bench.run("nop", agent_reply="text")
    plan_run(RunRequest(path=bench.folder, agent="nop"), Settings(agent_request=MESSAGE), CATALOG)


def test_commands_take_the_options(bench: Workbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench.write("a.yml", TALK)
    (tmp_path / "request.json").write_text(MESSAGE, encoding="utf-8")
    store = ["--store", str(tmp_path / "cli.db")]
    header = ["--header", f"Authorization: Bearer {KEY}"]
    with Served(echo) as served:
        run = ["run", str(bench.folder), "--agent", f"{served.url}/chat", *store, *header]
        assert run_command([*run, "--request", f"@{tmp_path}/request.json", "--reply", "reply.text"]) == 0
        assert run_command(["rerun", "latest", *store]) == 2
        assert "CLERKSHIP_AGENT_HEADERS" in capsys.readouterr().err
        assert run_command(["rerun", "latest", *store, *header]) == 0
        assert run_command(["rerun", "latest", *store, *header, "--reply", "reply.txt"]) == 1
        assert run_command(["fork", "latest~1", "notes", "--at-turn", "2", *store, *header]) == 0
        assert run_command(["resume", "latest", *store, *header]) == 0
    shown = capsys.readouterr().out
    assert "nothing at `reply.txt` (--reply): `reply` is a map with the keys 'text'" in shown
    assert KEY not in shown
    assert KEY.encode() not in (tmp_path / "cli.db").read_bytes()
