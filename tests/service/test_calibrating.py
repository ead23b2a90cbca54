"""Calibration of judges, with scripted answers and over HTTP."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.llm.prompts import BUILT_IN
from clerkship.model.calibration import (
    Agreement,
    Calibration,
    JudgeIdentity,
    find_judge_differences,
    find_nearest_calibration,
)
from clerkship.model.errors import InputError
from clerkship.report.calibration import compute_kappa, describe_calibration, find_judge_calibration
from clerkship.service.calibrating import (
    CalibrationRequest,
    CalibrationResult,
    calibrate,
    plan_calibration,
    save_result,
)
from clerkship.service.checking import ValidationRequest, validate
from clerkship.service.exporting import write_reports
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.reading import show_run
from clerkship.service.report_targets import ReportTargets
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import RescoreOptions, rescore
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.actors.servers import Answered, Asked, Served
from tests.llm.endpoint import KEY, bodies, refused, said, shorten_waits
from tests.workbench import CATALOG, Workbench

EXAMPLE = Path(__file__).parents[2] / "examples" / "order_support"
LABELLED = """
    labelled:
      - name: Late
        simulation_context: You are in a hurry.
        turns:
          - {user: Where is my order?, agent: It snows.}
          - {user: Why?, agent: It snows.}
        labels:
          - {criterion: It says why, passed: true}
          - {criterion: It says when, passed: false, note: no day}
      - name: Silent on it
        turns: [{user: Why?, agent: I see.}]
        labels:
          - {criterion: It says why, passed: false}
          - {criterion: It says when, passed: false}
"""
SCENARIO = """
    scenario:
      name: Late
      simulation_context: You are in a hurry.
      setup: {person: {lines: [Where is my order?, Why?]}}
      goals: {criteria: [It says why]}
"""
SETTINGS = Settings(timeout=20, openai_api_key=KEY)


def run_calibration(bench: Workbench, judge: str | None, text: str = LABELLED, **more: Any) -> CalibrationResult:
    """Calibrate a judge with a labelled set, and save the result."""
    path = bench.write("labels/labelled.yml", text)
    save = more.pop("save", None)
    request = CalibrationRequest(path=path, judge=judge, **more)
    found = calibrate(plan_calibration(request, SETTINGS, CATALOG, bench.store))
    save_result(found, bench.store, save)
    return found


def verdict(passed: bool, quote: str = "", reasoning: str = "[T1] says so.") -> Answered:
    """Return an answer of the endpoint."""
    cites = [{"where": "T1", "quote": quote}] if quote else []
    return said(json.dumps({"reasoning": reasoning, "citations": cites, "passed": passed}))


def read_question(asked: Asked) -> str:
    """Return the conversation and the criterion of a request."""
    found: str = json.loads(asked.body)["messages"][1]["content"]
    return found


def answer_by_snow(asked: Asked) -> Answered:
    """Pass every criterion whose conversation mentions snow."""
    return verdict("It snows" in read_question(asked), "It snows" if "It snows" in read_question(asked) else "")


def judge_reference(served: Served) -> str:
    return f"openai:some-model@{served.url}/v1"


def run_judged(bench: Workbench, judge: str, **options: Any) -> str:
    """Run the suite with this judge; return the id of the run."""
    bench.write("eval/scenarios/late.yml", SCENARIO)
    request = RunRequest(
        path=bench.folder / "eval", agent=PythonSolver("agent", lambda message: "It snows."), judge=judge, **options
    )
    return execute(plan_run(request, SETTINGS, CATALOG), bench.store, CATALOG).run.id


def test_shipped_set_is_balanced_and_its_judge_disagrees_with_some_labels(bench: Workbench) -> None:
    request = CalibrationRequest(
        path=EXAMPLE / "labelled.yml", judge=f"scripted:{EXAMPLE / 'labelled_judge.json'}", concurrency=3
    )
    plan = plan_calibration(request, SETTINGS, CATALOG, bench.store)
    labels = [label for _, label in plan.labelled.labels()]
    assert len(plan.labelled.items) >= 8
    assert len(labels) >= 24
    assert 0.4 <= sum(label.passed for label in labels) / len(labels) <= 0.6
    both = {(label.criterion, label.passed) for label in labels}
    assert len(both) == 2 * len({label.criterion for label in labels}) >= 10
    found = calibrate(plan)
    overall = found.calibration.overall
    assert (overall.judged, overall.agreed, overall.false_passes, overall.false_fails) == (29, 27, 1, 1)
    assert overall.errors == 0
    assert compute_kappa(overall) == pytest.approx(0.8606, abs=1e-4)
    assert [one.conversation for one in found.disagreements()] == ["Moved to Oak Lane, it says", "A refund refused"]
    assert [one.label.criterion for one in found.judgements] == [label.criterion for label in labels]


def test_calibration_sends_the_same_request_as_a_run(bench: Workbench) -> None:
    with Served(answer_by_snow) as served:
        found = run_calibration(bench, judge_reference(served))
        assert len(served.asked) == 4
        prompts = ((body, body["messages"][1]["content"]) for body in bodies(served))
        labelled = next(body for body, text in prompts if "my order" in text and text.endswith("It says why"))
        run_judged(bench, judge_reference(served))
        assert bodies(served)[-1]["messages"][0] == labelled["messages"][0]
        ours, theirs = (body["messages"][1]["content"] for body in (bodies(served)[-1], labelled))
    assert "SIMULATION CONTEXT" in ours
    # The log of a run starts with further events, so the numbers of events differ, but not the messages.
    assert [line for line in ours.splitlines() if line.startswith("[T")] == [
        line for line in theirs.splitlines() if line.startswith("[T")
    ]
    assert found.calibration.overall == Agreement(both_passed=1, both_failed=2, false_passes=1)
    assert found.calibration.criteria == {
        "It says why": Agreement(both_passed=1, both_failed=1),
        "It says when": Agreement(both_failed=1, false_passes=1),
    }
    [wrong] = found.disagreements()
    assert (wrong.conversation, wrong.label.note, wrong.result.detail) == ("Late", "no day", "[T1] says so.")
    assert found.used["judge"].calls == 4


def test_labels_without_a_verdict_are_counted_separately(bench: Workbench) -> None:
    def answer(asked: Asked) -> Answered:
        return refused(400, "no") if read_question(asked).endswith("It says when") else answer_by_snow(asked)

    with Served(answer) as served:
        found = run_calibration(bench, judge_reference(served))
    overall = found.calibration.overall
    assert (overall.judged, overall.agreed, overall.errors) == (2, 2, 2)
    assert found.calibration.criteria["It says when"] == Agreement(errors=2)
    assert compute_kappa(found.calibration.criteria["It says when"]) is None
    assert all("status 400" in one.result.detail for one in found.unjudged())
    assert found.exit_code() == 0
    assert found.exit_code(at_least=0.5) == found.exit_code(max_false_passes=0) == 2
    assert found.unsettled(0.5, None) == "2 of 4 labels got no verdict"


def test_calibration_without_a_verdict_is_inconclusive_and_not_saved(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_waits(monkeypatch)
    with Served(answer_by_snow) as served:
        before = run_calibration(bench, judge_reference(served))
    found = run_calibration(bench, judge_reference(served))  # the endpoint is closed
    assert (found.calibration.overall.judged, found.exit_code()) == (0, 2)
    assert bench.store.calibrations(judge_reference(served)) == (before.calibration,)


def test_exit_code_depends_on_the_targets(bench: Workbench) -> None:
    with Served(answer_by_snow) as served:
        found = run_calibration(bench, judge_reference(served))
    assert compute_kappa(found.calibration.overall) == pytest.approx(0.5)
    assert [found.exit_code(at_least) for at_least in (None, 0.5, 0.51)] == [0, 0, 1]
    assert [found.exit_code(None, most) for most in (None, 1, 0)] == [0, 0, 1]
    assert found.missed(0.6, 0) == [
        "κ is 0.50 (expected: at least 0.6)",
        "1 false pass (expected: at most 0)",
    ]


def test_labels_of_one_kind_have_no_kappa(bench: Workbench) -> None:
    text = LABELLED.replace("passed: true", "passed: false")
    with Served(answer_by_snow) as served:
        found = run_calibration(bench, judge_reference(served), text)
    assert compute_kappa(found.calibration.overall) is None
    assert found.exit_code(at_least=0.1) == 2
    assert found.exit_code(max_false_passes=9) == 0
    assert "one label only, so no κ" in describe_calibration(found.calibration)


def test_votes_are_used_and_are_part_of_the_judge_identity(bench: Workbench) -> None:
    seen: dict[str, int] = {}
    gate = threading.Lock()

    def answer(asked: Asked) -> Answered:
        with gate:
            number = seen[read_question(asked)] = seen.get(read_question(asked), 0) + 1
        return verdict(number == 2, "Why?" if number == 2 else "")

    text = LABELLED.replace("{user: Where is my order?, agent: It snows.}", "{user: Why?, agent: It snows.}")
    with Served(answer) as served:
        found = run_calibration(bench, judge_reference(served), text, votes=3)
        with pytest.raises(InputError, match="odd number"):
            run_calibration(bench, judge_reference(served), votes=2)
    assert found.used["judge"].calls == 12
    assert found.calibration.judge.votes == 3
    assert found.calibration.overall == Agreement(both_failed=3, false_fails=1)


def test_labels_are_judged_concurrently_up_to_the_limit(bench: Workbench) -> None:
    together = threading.Barrier(2)
    under_way, most = 0, 0
    gate = threading.Lock()

    def answer(asked: Asked) -> Answered:
        nonlocal under_way, most
        with gate:
            under_way += 1
            most = max(most, under_way)
        together.wait(10)
        with gate:
            under_way -= 1
        return answer_by_snow(asked)

    with Served(answer) as served:
        run_calibration(bench, judge_reference(served), concurrency=2)
    assert most == 2


def test_stored_run_can_be_labelled(bench: Workbench) -> None:
    with Served(answer_by_snow) as served:
        run_judged(bench, judge_reference(served), trials=2)
        text = """
            labelled:
              - name: From the store
                run: latest
                task: Late
                trial: 2
                labels: [{criterion: It says why, passed: true}, {criterion: It says when, passed: false}]
        """
        found = run_calibration(bench, judge_reference(served), text)
        assert found.calibration.overall == Agreement(both_passed=1, false_passes=1)
        with pytest.raises(InputError, match=r"labelled.yml:3:\d+: .* has no trial 7"):
            run_calibration(bench, judge_reference(served), text.replace("trial: 2", "trial: 7"))
        with pytest.raises(InputError, match=r"labelled.yml:3:\d+: there is no run 'nope'"):
            run_calibration(bench, judge_reference(served), text.replace("latest", "nope"))


def test_missing_judge_is_reported_before_any_request(bench: Workbench) -> None:
    with pytest.raises(InputError, match=r"none is configured; give --judge$"):
        run_calibration(bench, None)
    llm = "{provider: openai, model: own-model, api_key: '${NO_SUCH_KEY}'}"
    bench.write("labels/conftest.yml", f"evaluation: {{llm: {llm}}}")
    with pytest.raises(InputError, match="NO_SUCH_KEY is not set") as caught:
        run_calibration(bench, None)
    assert str(caught.value).endswith("; or give --judge")  # it has no --no-judge
    with pytest.raises(InputError, match="no judge to calibrate"):
        run_calibration(bench, "none")


def test_own_prompt_beside_the_set_is_used_and_is_part_of_the_judge_identity(bench: Workbench) -> None:
    bench.write("labels/judge.jinja2", "Decide on {{ criterion }} by {{ transcript }}")
    with Served(answer_by_snow) as served:
        llm = f"{{provider: openai, model: own-model, api_base: '{served.url}/v1', temperature: 0}}"
        bench.write("labels/conftest.yml", f"evaluation: {{llm: {llm}, criteria_judge_prompt: judge.jinja2}}")
        found = run_calibration(bench, None)
        assert all(body["messages"][-1]["content"].startswith("Decide on It says") for body in bodies(served))
        assert {body["temperature"] for body in bodies(served)} == {0}
    judge = found.calibration.judge
    assert (judge.model, judge.parameters) == (f"openai:own-model@{served.url}/v1", {"temperature": 0})
    assert judge.prompt != BUILT_IN["criterion"].version


# What a run says of its judge.


def render_reports(bench: Workbench, run_id: str) -> str:
    """Return the line about the judge in the output."""
    lines = dict(show_run(bench.store, run_id).judged().lines())
    return lines["judge"]


def test_run_and_reports_show_the_calibration_of_the_judge(bench: Workbench, tmp_path: Path) -> None:
    with Served(answer_by_snow) as served:
        before = run_judged(bench, judge_reference(served))
        assert render_reports(bench, before) == f"{judge_reference(served)} is not calibrated"
        found = run_calibration(bench, judge_reference(served))
        after = run_judged(bench, judge_reference(served))
    sentence = (
        f"{judge_reference(served)} agreed with people in 3 of 4 labels (κ 0.50; 1 false pass, 0 false fails), "
        f"calibrated {found.calibration.at[:10]} on labelled.yml"
    )
    assert render_reports(bench, after) == render_reports(bench, before) == sentence
    targets = ReportTargets(
        html=tmp_path / "r.html", junit=tmp_path / "r.xml", markdown=tmp_path / "r.md", jsonl=tmp_path / "r.jsonl"
    )
    write_reports(bench.store, after, targets)
    assert sentence.replace("κ ", "κ\u00a0") in (tmp_path / "r.html").read_text()
    assert f'<property name="judge_calibration" value="{sentence}"/>' in (tmp_path / "r.xml").read_text()
    assert "agreed with people in 3 of 4 labels" in (tmp_path / "r.md").read_text()
    summary = json.loads((tmp_path / "r.jsonl").read_text().splitlines()[-1])
    assert summary["judged"]["judge"]["sentence"] == sentence
    assert summary["judged"]["judge"]["overall"]["kappa"] == pytest.approx(0.5)


def test_judge_with_another_number_of_votes_is_not_calibrated(bench: Workbench) -> None:
    with Served(answer_by_snow) as served:
        found = run_calibration(bench, judge_reference(served))
        run_id = run_judged(bench, judge_reference(served), votes=3)
    day = found.calibration.at[:10]
    assert (
        render_reports(bench, run_id)
        == f"{judge_reference(served)} is not calibrated (calibrated with another number of votes, {day})"
    )


def test_votes_of_a_scenario_are_part_of_the_judge_identity(bench: Workbench) -> None:
    bench.write("eval/scenarios/late.yml", SCENARIO.replace("goals: {", "goals: {votes: 3, "))
    bench.write("x.json", "[]")
    request = RunRequest(path=bench.folder / "eval", agent="nop", judge=f"scripted:{bench.folder / 'x.json'}")
    plan = plan_run(request, SETTINGS, CATALOG)
    assert plan.run.judging is not None
    assert plan.run.judging.votes == 3


def test_calibration_file_beside_the_scenarios_is_stored_with_the_run(bench: Workbench, tmp_path: Path) -> None:
    file = bench.folder / "eval" / "calibration.json"
    elsewhere = Workbench(tmp_path / "elsewhere")
    with Served(answer_by_snow) as served:
        found = run_calibration(elsewhere, judge_reference(served), save=file)
        elsewhere.store.close()
        assert bench.store.calibrations(judge_reference(served)) == ()
        run_id = run_judged(bench, judge_reference(served))
        file.unlink()
        assert "agreed with people in 3 of 4 labels" in render_reports(bench, run_id)
        run = bench.store.run(run_id)
        assert run.calibration == found.calibration.model_copy(update={"criteria": {}})
        agent = PythonSolver("agent", lambda message: "It snows.")
        again = execute(plan_rerun(bench.store, run_id, CATALOG, SETTINGS, agent), bench.store, CATALOG).run
        assert "agreed with people in 3 of 4 labels" in render_reports(bench, again.id)
        graded = rescore(bench.store, run_id, CATALOG, judging=RescoreOptions(settings=SETTINGS, votes=3)).run
        assert "another number of votes" in render_reports(bench, graded.id)


def test_calibration_file_has_the_newest_entry_of_each_judge(bench: Workbench, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "calibration.json"
    with Served(answer_by_snow) as served:
        run_calibration(bench, judge_reference(served), save=file)
        run_calibration(bench, judge_reference(served), LABELLED.replace("passed: true", "passed: false"), save=file)
        run_calibration(bench, judge_reference(served), votes=3, save=file)
    kept = json.loads(file.read_text())["calibrations"]
    assert [one["judge"]["votes"] for one in kept] == [1, 3]
    assert kept[0]["overall"]["both_passed"] == 0
    assert KEY not in file.read_text()


def test_malformed_calibration_file_is_reported_before_the_run(bench: Workbench) -> None:
    bench.write("eval/calibration.json", '{"calibrations": [{"judge": {"model": "x"}}]}')
    with pytest.raises(InputError, match=r"calibration.json:1:\d+: calibrations.0.judge: `prompt` is missing"):
        run_judged(bench, "openai:x@http://127.0.0.1:9/v1")


def test_malformed_calibration_file_is_reported_by_validate(bench: Workbench) -> None:
    bench.write("eval/scenarios/late.yml", SCENARIO)
    file = bench.write("eval/calibration.json", '{"calibrations": []}')
    request = ValidationRequest(path=bench.folder / "eval" / "scenarios")
    assert validate(request, SETTINGS, CATALOG).exit_code() == 0
    file.write_text("{")
    found = validate(request, SETTINGS, CATALOG)
    assert found.exit_code() == 2
    assert [Path(problem.file).name for problem in found.problems] == ["calibration.json"]


def test_unwritable_calibration_file_is_reported_before_any_request(bench: Workbench) -> None:
    path = bench.write("labels/labelled.yml", LABELLED)
    broken = bench.write("broken.json", "{")
    places = {
        broken: "broken.json:2:1: not YAML",
        bench.folder: "it is a folder",
        broken / "in" / "calibration.json": "broken.json: it is not a folder",
    }
    with Served(answer_by_snow) as served:
        for place, said in places.items():
            request = CalibrationRequest(path=path, judge=judge_reference(served), save=place)
            with pytest.raises(InputError, match=said):
                plan_calibration(request, SETTINGS, CATALOG, bench.store)
        assert served.asked == []
    assert broken.read_text() == "{"


def test_run_without_a_judge_has_no_calibration(bench: Workbench) -> None:
    run = bench.store.run(run_judged(bench, "none"))
    assert (run.judging, run.calibration, find_judge_calibration(run)) == (None, None, None)


def identity(**changes: Any) -> JudgeIdentity:
    return JudgeIdentity.model_validate({"model": "openai:a", "prompt": "criterion-1"} | changes)


def calibration(at: str, **changes: Any) -> Calibration:
    return Calibration(judge=identity(**changes), file="l.yml", labels="x", at=at, overall=Agreement(both_passed=1))


def test_nearest_calibration_is_the_same_judge_then_the_most_similar_then_the_newest() -> None:
    one, two = calibration("2026-01-01"), calibration("2026-02-01")
    other = calibration("2026-03-01", prompt="criterion-2")
    far = calibration("2026-04-01", prompt="criterion-2", votes=3)
    stranger = calibration("2026-05-01", model="openai:b")
    assert find_nearest_calibration(identity(), (one, two, other, far, stranger)) == two
    assert find_nearest_calibration(identity(), (far, other, stranger)) == other
    assert find_nearest_calibration(identity(model="openai:c"), (one, stranger)) is None
    assert find_judge_differences(identity(), identity(prompt="x", parameters={"a": 1})) == ("parameters", "prompt")
