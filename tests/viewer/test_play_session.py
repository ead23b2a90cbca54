"""A person as the agent of a run: acting, answering, giving up, and the time limit."""

import json
import threading
from pathlib import Path

import httpx
import pytest

from clerkship.cli.catalog import build_catalog
from clerkship.engine.batch import TrialBatch
from clerkship.model.errors import InputError
from clerkship.report.labels import rerun_command
from clerkship.sandbox.request import Refusal
from clerkship.service.playing import PlayRequest, PlaySession, plan_play
from clerkship.settings import Settings
from clerkship.store.opening import open_store
from tests.viewer.played import PlayedTask, play
from tests.waiting import wait_until

READ = {"type": "Observation", "id": "potassium"}
CHART = """\
environment: {name: clinic, now: 2026-03-02T09:00:00-05:00, simulators: {ehr: {kind: fhir}, phone: {kind: voice}}}
task:
  name: Check the potassium
  environment: clinic
  timeout: 0.01
  task_item: {instruction: What is the potassium?}
  scenario:
    steps:
      - fhir.put:
          resource:
            resourceType: Observation
            id: potassium
            status: final
            code: {text: Potassium}
            valueQuantity: {value: 2.8, unit: mmol/L}
  criteria:
    - {label: The value, gate: true, assertion: {answer_matches: {expected: 2.8}}}
    - {label: It was looked at, assertion: {sequencing: [{event: fhir.resource.read}]}}
"""
PHONE = """\
environment:
  name: office
  now: 2026-03-02T09:00:00-05:00
  simulators:
    phone:
      kind: voice
      config:
        organization: Riverbend
        numbers: ["+15550100100"]
        lines:
          - number: "+15550100150"
            name: Office line
            tree:
              name: Office line
              version: "1"
              start: main
              nodes:
                main: {type: menu, prompt: For hours press 1., choices: [{key: "1", next: day}]}
                day:
                  type: menu
                  prompt: Say a day.
                  choices: [{key: "1", speech: [monday], next: monday}, {key: "2", speech: [sunday], next: sunday}]
                monday: {type: end, prompt: We open at nine.}
                sunday: {type: end, prompt: We are closed.}
task:
  name: Ask when they open
  environment: office
  task_item: {instruction: When does the office open on Monday?}
  criteria:
    - {label: The hour, gate: true, assertion: {answer_matches: {expected: nine}}}
    - {label: The line was called, assertion: {voice_call: {number: "+15550100150", count: 1}}}
"""
TALK = """
scenario:
  name: A greeting
  simulation_context: You want to know when the office opens.
  setup:
    person:
      opening: When do you open?
      fallback: When do you open?
      end: {when: nine, say: "Thank you, bye."}
  goals:
    assertions:
      - bot_uttered: {text_matches: nine}
      - slot_was_set: [{name: topic, value: hours}]
"""


def kinds(played: PlayedTask) -> list[str]:
    return [event["kind"] for event in played.session.describe(0)["events"]]


def test_answer_after_reading_passes_and_is_stored_as_human(tmp_path: Path) -> None:
    with play(tmp_path, write_suite(tmp_path)) as played:
        state = played.session.describe(0)
        assert state["state"] == "task"
        assert "potassium" in state["question"]["task_item"]["instruction"]
        reply = played.session.call("ehr__read", READ)
        assert (reply["status"], json.loads(reply["text"])["valueQuantity"]["value"]) == (200, 2.8)
        played.session.answer({"answer": 2.8})
        task_run = played.get_result()
        state = wait_until(lambda: (now := played.session.describe(0))["state"] == "over" and now)
    assert (task_run.verdict, task_run.ending, task_run.timeout) == ("pass", "agent_done", 600.0)
    assert (state["result"]["outcome"], state["result"]["run"]) == ("pass", task_run.run)
    assert played.session.is_told
    with open_store(played.settings) as store:
        run = store.run(task_run.run)
        assert run.solver == "human"
        assert rerun_command(run).endswith(f"play --from {run.path} --seed 0 'Check the potassium' --timeout 10m")
        assert not store.check_seals(task_run.run).is_changed
        events = [json.loads(line) for line in store.log(task_run)]
    assert [event["actor"] for event in events if event["kind"] == "fhir.resource.read"] == ["agent"]


def test_time_limit_of_the_person_replaces_that_of_the_task(tmp_path: Path) -> None:
    with play(tmp_path, write_suite(tmp_path), time_limit=0.5) as played:
        task_run = played.get_result()
        assert (task_run.status, task_run.verdict) == ("timed_out", "fail")
        with pytest.raises(Refusal, match="does not wait for you"):
            played.session.answer({"answer": 2.8})


def test_time_limit_does_not_change_the_task(tmp_path: Path) -> None:
    hashes = set()
    for limit in (10.0, 3600.0):
        session = PlaySession(limit)
        request = PlayRequest(path=write_suite(tmp_path, TALK), timeout=limit)
        [snapshot] = plan_play(request, session, Settings(store=tmp_path / "s.db"), build_catalog()).snapshots
        assert snapshot.task.scenario is not None
        assert (snapshot.timeout, snapshot.task.scenario.turn_timeout) == (limit, limit)
        hashes.add(snapshot.task_hash)
    assert len(hashes) == 1


def test_giving_up_is_graded_and_fails(tmp_path: Path) -> None:
    with play(tmp_path, write_suite(tmp_path)) as played:
        played.session.call("ehr__read", READ)
        played.session.give_up()
        task_run = played.get_result()
    assert (task_run.status, task_run.verdict, task_run.agent_error) == ("completed", "fail", "The person gave up")
    assert {each.label: each.passed for each in task_run.criteria}["It was looked at"]


def test_stopping_cancels_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[TrialBatch] = []
    run = TrialBatch.run

    def note(batch: TrialBatch) -> None:
        batches.append(batch)
        run(batch)

    monkeypatch.setattr(TrialBatch, "run", note)
    with play(tmp_path, write_suite(tmp_path)) as played:
        batches[0].stop()  # as Ctrl-C does
        task_run = played.get_result()
        assert (task_run.status, task_run.verdict) == ("cancelled", None)
        with pytest.raises(Refusal) as refused:
            played.session.call("ehr__read", READ)
    assert (refused.value.status, refused.value.code) == (409, "not_your_turn")


def test_of_two_answers_at_once_one_is_taken(tmp_path: Path) -> None:
    outcomes: list[str] = []
    with play(tmp_path, write_suite(tmp_path)) as played:
        start = threading.Barrier(2)

        def answer(value: str) -> None:
            start.wait(10)
            try:
                played.session.answer({"answer": value})
                outcomes.append(value)
            except Refusal as refusal:
                outcomes.append(refusal.code)

        threads = [threading.Thread(target=answer, args=(value,)) for value in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        task_run = played.get_result()
    assert sorted(outcomes, key=len, reverse=True)[0] == "not_your_turn"
    assert task_run.answer in outcomes


def test_mistakes_in_a_call_are_refused_and_not_logged(tmp_path: Path) -> None:
    with play(tmp_path, write_suite(tmp_path)) as played:
        for name, arguments, reason in (
            ("nothing", {}, "no tool `nothing`"),
            ("ehr__read", {"type": "Patient"}, "`id` is missing"),
            ("wait", {"duration": "long"}, "long"),
            ("finish", {"answer": 1}, "no tool `finish`"),
            ("agent.slot.set", {}, "name"),
        ):
            with pytest.raises(Refusal, match=reason):
                played.session.call(name, arguments)
        with pytest.raises(Refusal, match="no `answer`"):
            played.session.answer({"say": "hello"})
        assert kinds(played) == ["agent.started"]
        assert played.session.describe(0)["state"] == "task"


def test_refusals_of_a_sandbox_are_replies(tmp_path: Path) -> None:
    with play(tmp_path, write_suite(tmp_path)) as played:
        reply = played.session.call("ehr__read", {"type": "Patient", "id": "nobody"})
        assert (reply["status"], "OperationOutcome" in reply["text"]) == (404, True)


def test_waiting_moves_the_clock(tmp_path: Path) -> None:
    with play(tmp_path, write_suite(tmp_path)) as played:
        assert played.session.call("wait", {"duration": "10m"})["text"] == "It is 2026-03-02T09:10:00-05:00."
        assert played.session.describe(0)["now"] == "2026-03-02T09:10:00-05:00"
        assert "clock.advanced" in kinds(played)


def test_events_that_show_what_systems_hide_are_left_out(tmp_path: Path) -> None:
    with play(tmp_path, write_suite(tmp_path, PHONE)) as played:
        played.session.call("dial", {"to": "+15550100150"})
        reply = played.session.call("hear", {"id": "call-1"})
        assert "For hours press 1." in reply["text"]
        events = played.session.describe(0)["events"]
        assert {event["actor"] for event in events} == {"agent"}
        assert "voice.call.heard" in kinds(played)
        assert "monday" not in json.dumps(events)
        assert played.session.describe(events[-1]["seq"])["events"] == []


def test_conversation_with_replies_reports_and_silence(tmp_path: Path) -> None:
    with play(tmp_path, write_suite(tmp_path, TALK)) as played:
        state = played.session.describe(0)
        assert (state["state"], state["question"]["text"]) == ("turn", "When do you open?")
        assert [tool["name"] for tool in played.session.describe_tools()["reports"]].count("agent.slot.set") == 1
        played.session.call("agent.slot.set", {"name": "topic", "value": "hours"})
        played.session.answer({"say": "I shall look."})
        wait_until(lambda: played.session.describe(0)["question"]["turn"] == 2)
        played.session.answer({"say": "At nine."})
        task_run = played.get_result()
        texts = [event["payload"].get("text") for event in played.session.describe(0)["events"]]
    assert (task_run.verdict, task_run.ending) == ("pass", "person_done")
    said = ["When do you open?", "I shall look.", "When do you open?", "At nine.", "Thank you, bye."]
    assert [text for text in texts if text] == said


def test_task_is_named_as_elsewhere(tmp_path: Path) -> None:
    def find(path: Path, task: str | None) -> str:
        settings = Settings(store=tmp_path / "store.db")
        plan = plan_play(PlayRequest(task=task, path=path), PlaySession(), settings, build_catalog())
        [snapshot] = plan.snapshots
        return snapshot.task.name

    suite = write_suite(tmp_path)
    assert find(suite, None) == "Check the potassium"
    (suite / "other.yml").write_text(CHART.partition("\n")[2].replace("potassium", "sodium"))
    assert find(suite, "Sodium") == "Check the sodium"
    assert find(Path(f"{suite / 'other.yml'}::Check the sodium"), None) == "Check the sodium"
    for task, reason in ((None, "name one of the 2 tasks"), ("check", "it matches"), ("chloride", "chloride")):
        with pytest.raises(InputError, match=reason):
            find(suite, task)


def test_data_needs_the_sign_in_and_changes_need_the_header(tmp_path: Path) -> None:
    with play(tmp_path, write_suite(tmp_path)) as played:
        base = played.viewer.address.removesuffix("/")
        call = {"tool": "ehr__read", "arguments": READ}
        with httpx.Client(trust_env=False, timeout=20) as client:
            assert client.get(f"{base}/data/play").status_code == 401
            assert client.get(f"{base}/play", headers={"accept": "text/html"}).status_code == 401
            page = client.get(played.viewer.url, follow_redirects=True)
            assert (str(page.url), page.status_code) == (f"{base}/play", 200)
            for path in ("call", "answer", "give-up"):
                assert client.post(f"{base}/data/play/{path}", json=call).status_code == 403
            headers = {"x-clerkship-view": "1"}
            assert client.post(f"{base}/data/play/call", json=call, headers=headers).json()["status"] == 200
            for body in ("[]", "{", '{"tool": 1}', '{"tool": "ehr__read", "arguments": []}'):
                assert client.post(f"{base}/data/play/call", content=body, headers=headers).status_code == 400
            assert client.get(f"{base}/data/play", params={"after": "x"}).status_code == 400
        assert played.session.describe(0)["state"] == "task"


def write_suite(folder: Path, text: str = CHART) -> Path:
    """Write a file with one task, and return its folder."""
    suite = folder / "suite"
    suite.mkdir(exist_ok=True)
    (suite / "task.yml").write_text(text)
    return suite
