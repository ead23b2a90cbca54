"""Results in the format of Rasa's evaluation: they match the data in the store."""

import json
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.contract import Say
from clerkship.model.environment import CONVERSATION_ENVIRONMENT
from clerkship.model.run import CriterionRun, TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Criterion, Task
from clerkship.rasa.results import RasaResults, ScenarioSummary, build_slugs, find_results_folder, to_path_component
from clerkship.report.detail import StoredTrial
from clerkship.service.exporting import write_reports
from clerkship.service.report_targets import ReportTargets, ResultsFolder
from tests import workbench
from tests.report.made_up import RUN
from tests.workbench import Workbench

ORDER = """
    scenario:
      name: Where is my order?
      simulation_context: Wants to know where the order is.
      setup:
        initial_slots: {order: "7"}
        person: {lines: [where is my order, thanks]}
      goals:
        assertions:
          - bot_uttered: {text_matches: on its way}
          - bot_did_not_utter: {text_matches: refund}
"""
RUDE = """
    scenario:
      name: A rude bot
      simulation_context: Says hello.
      setup: {person: {lines: [hello]}}
      goals:
        assertions:
          - bot_uttered: {text_matches: "^Good day"}
"""
TALK = """
    scenario: {name: Just talk, simulation_context: Talks., setup: {person: {lines: [crash]}}}
"""


def bot(message: Any) -> list[Say]:
    """An agent that knows one answer, and fails on one message."""
    if message.text == "crash":
        raise ValueError("it broke")
    text = "It is on its way.\nTomorrow." if "order" in message.text else "What?"
    return [Say(text), Say("Anything else?")]


@pytest.fixture
def results_folder(bench: Workbench, tmp_path: Path) -> Path:
    """The results of a run of three scenarios, twice each."""
    bench.write("where.yml", ORDER)
    bench.write("sub/rude.yml", RUDE)
    bench.write("talk.yml", TALK)
    bench.run(bot, trials=2)
    assert bench.result is not None
    targets = ReportTargets(results=ResultsFolder(tmp_path / "results"))
    return write_reports(bench.store, bench.result.run.id, targets)["results"]


def sections(path: Path) -> dict[str, list[str]]:
    """Return the text of a run by section title; the part before the first has no title."""
    found: dict[str, list[str]] = {"": []}
    title = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("--- ") and line.endswith(" ---"):
            title = line[4:-4]
            found[title] = []
        elif line:
            found[title].append(line)
    return found


def test_folder_has_the_files_of_the_rasa_layout(results_folder: Path) -> None:
    files = sorted(str(path.relative_to(results_folder)) for path in results_folder.rglob("*") if path.is_file())
    runs = [f"{slug}/run_{n}.{end}" for slug in ("rude", "talk", "where") for n in (1, 2) for end in ("json", "txt")]
    assert files == sorted([*runs, "summary.json", "summary.txt"])


def test_text_file_has_every_section(results_folder: Path, bench: Workbench) -> None:
    found = sections(results_folder / "where" / "run_2.txt")
    assert list(found) == [
        "",
        "Quality Criteria Results",
        "Quality Metrics",
        "Assertion Results",
        "Raw Transcript",
        "Inspector URL",
    ]
    head = dict(line.split(": ", 1) for line in found[""])
    assert bench.result is not None
    assert (head["scenario"], head["run"], head["overall_result"]) == ("Where is my order?", "2", "PASS")
    assert head["timestamp"].endswith("Z")
    assert head["conversation_id"] == f"{bench.result.run.id}-where-2"
    assert "error" not in head
    [_, second] = bench.store.task_runs(bench.result.run.id, task="Where is my order?")
    assert found["Assertion Results"] == [f"[PASS] {c.assertion}" for c in workbench.written(second)]
    assert found["Quality Criteria Results"] == ["(none defined)"]
    assert found["Quality Metrics"] == ["(not evaluated)"]
    assert found["Raw Transcript"] == [
        "[1] user: where is my order",
        "[2] agent: It is on its way.",
        "    Tomorrow.",
        "[3] agent: Anything else?",
        "[4] user: thanks",
        "[5] agent: What?",
        "[6] agent: Anything else?",
    ]


def test_json_file_has_rasa_keys_and_additional_data(results_folder: Path, bench: Workbench) -> None:
    data = json.loads((results_folder / "rude" / "run_1.json").read_bytes())
    assert bench.result is not None
    [first, _] = bench.store.task_runs(bench.result.run.id, task="A rude bot")
    assert (data["scenario_slug"], data["run_index"], data["eval_passed"]) == ("rude", 1, False)
    assert (data["task_completion"], data["criteria"]) == (None, [])
    [criterion] = workbench.written(first)
    expected = {"index": 0, "assertion": criterion.assertion, "passed": False}
    assert expected.items() <= data["assertions"][0].items()
    assert data["assertions"][0]["detail"] == criterion.detail
    assert data["assertions_summary"] == {"passed": 0, "total": 1, "all_passed": False}
    assert "criteria_summary" not in data
    assert "latency" not in data
    assert (data["status"], data["verdict"], data["score"]) == (first.status, first.verdict, first.score)
    assert [said["who"] for said in data["transcript"]] == ["user", "agent", "agent"]
    assert data["events"] == bench.events(first)
    assert len(data["events"]) == data["events_total"]


def test_summary_counts_runs_and_lists_failures(results_folder: Path) -> None:
    summary = json.loads((results_folder / "summary.json").read_bytes())
    assert summary.keys() == {"wall_clock_s", "entries"}
    entries = {entry["scenario_slug"]: entry for entry in summary["entries"]}
    for slug, name, passed in [("where", "Where is my order?", 2), ("rude", "A rude bot", 0), ("talk", "Just talk", 0)]:
        entry = entries[slug]
        assert entry.keys() == {
            "scenario_name",
            "scenario_slug",
            "runs_passed",
            "runs_total",
            "duration_s",
            "runs_errored",
        }
        assert (entry["scenario_name"], entry["runs_passed"], entry["runs_total"]) == (name, passed, 2)
        assert entry["runs_errored"] == 0  # a crash of the agent is the agent's
        assert entry["duration_s"] > 0
    lines = (results_folder / "summary.txt").read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["=" * 70, "EXPERIMENT SUMMARY", "=" * 70]
    seconds = entries["where"]["duration_s"]
    assert f"[PASS] Where is my order?  2/2  {seconds:.1f}s  {results_folder.as_posix()}/where" in lines
    assert "Total: 2/6 passed" in lines
    assert lines[-3:] == [
        "Scenarios requiring attention:",
        "  - A rude bot  0/2 passed  (0%)",
        "  - Just talk  0/2 passed  (0%)",
    ]


def test_crashed_agent_fails_with_its_error(results_folder: Path) -> None:
    head = sections(results_folder / "talk" / "run_1.txt")[""]
    assert "overall_result: FAIL" in head
    assert any(line.startswith("error: ValueError: it broke") for line in head)


def judged(status: str, *, passed: bool, detail: str) -> CriterionRun:
    """Return a judged criterion."""
    how: Any = {"label": f"It is {detail}", "assertion": "judged", "status": status}
    return CriterionRun(**how, passed=passed, detail=detail)


def trial(**fields: Any) -> TaskRun:
    """Return the record of a trial."""
    record: dict[str, Any] = {"run": "r", "task": "T", "ending": "person_done", "head": "", "events": 0}
    return TaskRun.model_validate(record | {"snapshot": "", "status": "completed"} | fields)


def render_files(task_run: TaskRun, **sidecar: Any) -> dict[str, bytes]:
    """Return the files for a run of one trial."""
    run = RUN.model_copy(update={"solver": "rasa:http://localhost:5005/"})
    task = Task(
        name="T",
        criteria=tuple(
            Criterion.model_validate({"label": c.label, "assertion": {c.assertion: c.label}}) for c in task_run.criteria
        ),
    )
    snapshot = Snapshot(task=task, environment=CONVERSATION_ENVIRONMENT, timeout=1, source="scenarios/t.yml")
    results = RasaResults(run, {"T": snapshot}, "eval/results/now")
    return dict(results.render([StoredTrial(task_run, (), json.dumps(sidecar).encode())], lambda _: b""))


def render(task_run: TaskRun, **sidecar: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the text, the JSON and the summary entry of a trial."""
    files = render_files(task_run, **sidecar)
    summary = json.loads(files["summary.json"])["entries"][0]
    return files["t/run_1.txt"].decode(), json.loads(files["t/run_1.json"]), summary


def test_judged_criteria_are_listed_with_reasons() -> None:
    criteria = (judged("judged", passed=True, detail="kind"), judged("judged", passed=False, detail="short"))
    text, data, summary = render(trial(verdict="fail", criteria=criteria))
    assert "[PASS] It is kind\n  rationale: kind\n\n[FAIL] It is short\n  rationale: short\n" in text
    assert "--- Assertion Results ---\n(none defined)\n" in text
    assert data["criteria"] == [
        {"index": 0, "criterion": "It is kind", "passed": True, "rationale": "kind"},
        {"index": 1, "criterion": "It is short", "passed": False, "rationale": "short"},
    ]
    assert data["criteria_summary"] == {"passed": 1, "total": 2, "all_passed": False}
    assert "assertions" not in data
    assert summary["runs_errored"] == 0


def test_only_failed_assertions_have_details() -> None:
    criteria = (
        CriterionRun(label="flow_started(pay)", assertion="flow_started", status="judged", passed=True, detail="seen"),
        CriterionRun(label="action_executed(act)", assertion="action_executed", status="judged", detail="never ran"),
    )
    text, data, _ = render(trial(verdict="fail", criteria=criteria))
    lines = "[PASS] flow_started(pay)\n[FAIL] action_executed(act) — never ran\n"
    assert f"--- Assertion Results ---\n{lines}\n--- Raw Transcript ---\n" in text
    assert [entry["detail"] for entry in data["assertions"]] == ["seen", "never ran"]


def test_errored_runs_are_listed_after_the_lines_that_rasa_writes() -> None:
    files = render_files(trial(status="errored", ending="errored", error="the server is down"), wall_ms=28_940)
    summary = files["summary.txt"].decode()
    assert "[FAIL] T  0/1  28.9s  eval/results/now/t\n" in summary
    expected = "Scenarios requiring attention:\n  - T  0/1 passed  (0%)\n\nErrored runs (not the agent's fault):\n"
    assert summary.endswith(f"{expected}  ! T  1/1 errored\n")


def test_failed_judge_is_an_error_without_verdict() -> None:
    criteria = (judged("error", passed=False, detail="no answer"), judged("judged", passed=True, detail="kind"))
    text, data, summary = render(trial(verdict="inconclusive", criteria=criteria))
    assert "overall_result: FAIL\nerror: It is no answer: no answer\n" in text
    assert "[PASS] It is kind\n  rationale: kind\n(judge error: no answer)\n" in text
    assert (data["criteria_error"], data["criteria_summary"]["total"]) == ("no answer", 2)
    assert (summary["runs_passed"], summary["runs_errored"]) == (0, 1)


@pytest.mark.parametrize(
    ("fields", "passed", "errored", "error"),
    [
        ({"verdict": "pass"}, 1, 0, None),
        ({"verdict": "partial"}, 0, 0, None),
        ({"verdict": "ungraded"}, 1, 0, None),
        ({"status": "errored", "ending": "errored", "error": "the server is down"}, 0, 1, "the server is down"),
        ({"status": "cancelled", "ending": "cancelled"}, 0, 1, "cancelled"),
        ({"status": "timed_out", "verdict": "fail", "timeout": 30.0}, 0, 0, "timed out after 30 s"),
    ],
)
def test_each_outcome_is_rendered(fields: dict[str, Any], passed: int, errored: int, error: str | None) -> None:
    text, data, summary = render(trial(**fields))
    assert (summary["runs_passed"], summary["runs_errored"]) == (passed, errored)
    assert f"overall_result: {'PASS' if passed else 'FAIL'}" in text
    assert data["error"] == error
    assert ("\nerror: " in text) == (error is not None)
    assert "--- Raw Transcript ---\n(no turns recorded)" in text


def test_run_with_all_criteria_skipped_does_not_pass() -> None:
    skipped = judged("skipped", passed=False, detail="not asked").model_copy(update={"gate": True})
    text, data, _ = render(trial(verdict="ungraded", criteria=(skipped,)))
    assert "overall_result: FAIL" in text
    assert "(not judged: skipped)" in text
    assert data["criteria"] == []
    assert "criteria_error" not in data


def test_criteria_without_weight_do_not_fail_a_run() -> None:
    missed = CriterionRun(label="tool_called(x)", assertion="tool_called", status="judged", weight=0)
    text, data, summary = render(trial(verdict="ungraded", criteria=(missed,)))
    assert "overall_result: PASS" in text
    assert (data["eval_passed"], summary["runs_passed"]) == (True, 1)
    assert "assertions_summary" not in data


def test_criterion_keeps_its_index_beside_an_unjudged_one() -> None:
    criteria = (judged("error", passed=False, detail="down"), judged("judged", passed=True, detail="kind"))
    _, data, _ = render(trial(verdict="inconclusive", criteria=criteria))
    assert [criterion["index"] for criterion in data["criteria"]] == [1]
    assert data["criteria_summary"] == {"passed": 1, "total": 2, "all_passed": False}


def test_inspector_url_is_shown_for_rasa_servers() -> None:
    text, data, _ = render(trial(verdict="pass"), conversation_id="sim-1", wall_ms=1500)
    assert data["conversation_id"] == "sim-1"
    assert text.endswith("--- Inspector URL ---\nhttp://localhost:5005/webhooks/inspector/inspect.html?sender=sim-1\n")


def test_agent_text_cannot_add_lines_to_the_report() -> None:
    criterion = CriterionRun(label="a\n[PASS] b", assertion="x", status="judged", detail="c\n--- Latency ---")
    text, _, _ = render(trial(verdict="fail", criteria=(criterion,), error="x\noverall_result: PASS"))
    assert text.count("\noverall_result: ") == 1
    assert "\n[PASS] b" not in text
    assert "\n--- Latency" not in text


def test_each_task_has_a_unique_portable_folder_name() -> None:
    found = build_slugs(
        {"Refund": "a/x.yml", "Hours": "b/X.yml", "Other": "y.yml", "A/B: c?": "many.yml", "A_B c": "many.yml"}
    )
    assert found == {
        "Refund": "x-Refund",
        "Hours": "X-Hours",
        "Other": "y",
        "A/B: c?": "many-A_B_c_",
        "A_B c": "many-A_B_c",
    }
    assert build_slugs({"a": "q.yml", "A": "q.yml"}) == {"a": "q-a", "A": "q-A-2"}
    assert [to_path_component(name) for name in ("..", " ", 'a<b>"|?*\\c', "x" * 300)] == [
        "scenario",
        "scenario",
        "a_b_c",
        "x" * 100,
    ]


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("eval", "eval/results"),
        ("bot/eval", "bot/eval/results"),
        ("eval/scenarios", "eval/results"),
        ("eval/scenarios/refund.yml", "eval/results"),
        ("tests/e2e.yml", "eval/results"),
        ("", "eval/results"),
    ],
)
def test_results_folder_is_in_eval(path: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_results_folder(path) == Path(folder)


def test_pass_rate_is_computed_over_runs() -> None:
    assert not ScenarioSummary("a", "a", passed=1, total=2).is_good
    assert ScenarioSummary("a", "a", passed=2, total=2).is_good
