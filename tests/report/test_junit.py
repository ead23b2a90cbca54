"""JUnit XML: consistent with the run and its exit code."""

import string
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml
from junitparser import TestSuite as Suite

from clerkship.model.run import BenchmarkRun, Status, TaskRun, Verdict
from clerkship.report.detail import JunitCase
from clerkship.report.junit import MAX_TEXT_BYTES, render_junit
from clerkship.report.outcome import classify_result
from clerkship.service.exporting import write_reports
from clerkship.service.report_targets import ReportTargets
from tests.report import made_up
from tests.workbench import Workbench

TYPECASTS = {"symbol", "date", "datetime", "integer", "float", "decimal", "boolean", "string", "yaml", "file", "array"}
"""Words that the library GitLab reads XML with takes for types of values."""


def render(task_runs: Iterable[TaskRun], run: BenchmarkRun = made_up.RUN, source: str = "tasks/a.b.yml") -> str:
    """Render a file about made-up trials."""
    cases = [JunitCase(task_run, source, 0.25) for task_run in task_runs]
    return "".join(render_junit(run, made_up.counts([case.task_run for case in cases]), lambda: cases))


def suite_of(text: str) -> ElementTree.Element:
    """Return the only suite, after checking what all schemas in use require."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    [suite] = root
    for element in (root, suite):
        assert {"name", "tests", "failures", "errors", "skipped", "time"} <= set(element.keys())
    cases = suite.findall("testcase")
    assert [child.tag for child in suite] == ["properties"] + ["testcase"] * len(cases)
    assert int(suite.attrib["tests"]) == int(root.attrib["tests"]) == len(cases)
    for tag, sum_ in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.attrib[sum_]) == len(suite.findall(f"testcase/{tag}"))
    keys = [(case.attrib["classname"], case.attrib["name"]) for case in cases]
    assert len(set(keys)) == len(keys)
    for case in cases:
        assert {"classname", "name", "time"} <= set(case.keys()) <= {"classname", "name", "time", "file"}
        assert float(case.attrib["time"]) >= 0
        assert len(case) <= 1
        for child in case:
            assert child.tag in ("failure", "error", "skipped")
            assert (child.text or "").strip()
            assert child.attrib["message"]
            assert child.attrib.get("type") not in TYPECASTS
    return suite


def test_every_outcome_has_its_element_and_its_reason() -> None:
    suite = suite_of(render(detail.task_run for detail in made_up.every_outcome()))
    found = {case.attrib["name"]: case[0].tag if len(case) else "passed" for case in suite.findall("testcase")}
    assert found == {
        "it passes": "passed",
        "it is partial": "failure",
        "it fails": "failure",
        "it times out": "failure",
        "it is ungraded": "skipped",
        "it is inconclusive": "error",
        "it errs": "error",
        "its person errs": "error",
        "it is cancelled": "skipped",
        "its agent crashes": "failure",
    }
    texts = {case.attrib["name"]: case[0].text or "" for case in suite.findall("testcase") if len(case)}
    assert 'expected one of ["booked"]\n      actual   cancelled' in texts["it fails"]
    assert "#3 is not it" in texts["it fails"]
    assert "StepFailed: no such file" in texts["it errs"]
    assert "ModelDown: no reply" in texts["it is inconclusive"]
    assert "the agent crashed: KeyError: 'mrn'" in texts["its agent crashes"]
    assert "SHA-256 " + "ab" * 32 in texts["it fails"]


def test_missing_recording_is_reported_as_not_recorded() -> None:
    none: dict[str, Any] = {"status": "errored", "verdict": None, "score": None, "ending": "errored", "criteria": ()}
    error = "not recorded: a question of judge, in 'Late'\n-It snows.\n+It rains.\n--refresh records what is missing"
    [case] = suite_of(render([made_up.task_run("Late", error=error, **none)])).findall("testcase")
    [found] = case
    assert (found.tag, found.attrib["type"]) == ("error", "not_recorded")
    assert found.attrib["message"] == "Errored: not recorded: a question of judge, in 'Late'"
    assert "The trial differs from the recording.\n-It snows.\n+It rains.\n--refresh records" in (found.text or "")
    assert "failed" not in (found.text or "")


def test_the_suite_says_which_run_it_was() -> None:
    suite = suite_of(render(detail.task_run for detail in made_up.every_outcome()))
    facts = {fact.attrib["name"]: fact.attrib["value"] for fact in suite.findall("properties/property")}
    assert facts["run"] == made_up.RUN.id
    assert facts["solver"] == "python:desk:Agent"
    assert (facts["seed"], facts["grading"], facts["clerkship"]) == ("7", "1", "0.1.0")
    assert facts["pass_rate"] == "0.2000"
    assert suite.attrib["timestamp"] == "2026-03-02T09:00:00"
    assert suite.attrib["time"] == "2.500"


def test_junitparser_counts_the_same_results(tmp_path: Path) -> None:
    target = tmp_path / "junit.xml"
    target.write_text(render(detail.task_run for detail in made_up.every_outcome()), encoding="utf-8")
    read = JUnitXml.fromfile(str(target))
    written = (read.tests, read.failures, read.errors, read.skipped)
    assert written == (10, 4, 3, 2)
    read.update_statistics()  # type: ignore[no-untyped-call]
    assert (read.tests, read.failures, read.errors, read.skipped) == written
    [suite] = read
    assert isinstance(suite, Suite)
    facts = {fact.name for fact in suite.properties()}  # type: ignore[no-untyped-call]
    assert facts >= {"run", "solver", "seed"}
    assert {case.classname for case in suite} == {"made up.tasks.a.b"}


def test_failed_criteria_of_a_passed_trial_are_listed() -> None:
    criteria = (made_up.criterion(passed=True), made_up.criterion("No names in it", gate=False))
    [case] = ElementTree.fromstring(render([made_up.task_run("t", criteria=criteria)])).iter("testcase")
    assert case.findtext("system-out") == "failed: No names in it"
    assert case.find("failure") is None


def outcomes() -> st.SearchStrategy[TaskRun]:
    """Generate trials with any outcome."""
    verdicts: list[tuple[Status, Verdict | None]] = [
        *(("completed", verdict) for verdict in ("pass", "partial", "fail", "ungraded", "inconclusive")),
        ("timed_out", "fail"),
        ("errored", None),
        ("invalid_person", None),
        ("cancelled", None),
    ]
    return st.builds(
        lambda way, trial: made_up.task_run("t", status=way[0], verdict=way[1], trial=trial),
        st.sampled_from(verdicts),
        st.integers(1, 9),
    )


@given(st.lists(outcomes(), max_size=5))
def test_the_file_agrees_with_the_exit_code(task_runs: list[TaskRun]) -> None:
    run = made_up.RUN.model_copy(update={"trials": 9})
    suite = suite_of(render(task_runs, run))
    stopped = any(task_run.status == "cancelled" for task_run in task_runs)
    code = 130 if stopped else 2 if int(suite.attrib["errors"]) else 1 if int(suite.attrib["failures"]) else 0
    assert code == made_up.counts(task_runs).exit_code()


@given(st.text(st.characters(codec=None), min_size=1) | st.text(string.printable + "\x00\x08\x1b\ud800\ufffe]]>&<"))
def test_no_text_breaks_the_file(text: str) -> None:
    failed = made_up.criterion(text, detail=text, assertion=text)
    trials = [
        made_up.task_run(text, verdict="fail", score=0.0, criteria=(failed,), agent_error=text),
        made_up.task_run(text, status="errored", verdict=None, score=None, ending="errored", error=text),
    ]
    suite_of(render(trials, made_up.RUN.model_copy(update={"name": text, "solver": text})).encode().decode())


def test_names_that_are_equal_in_xml_are_numbered() -> None:
    names = ["a\x00", "a\\x00", "a\x01", "a"]
    suite = suite_of(render(made_up.task_run(name) for name in names))
    assert len(suite.findall("testcase")) == 4


def test_each_trial_and_attempt_is_a_case() -> None:
    trials = [made_up.task_run("t", trial=n, attempt=a) for n in (1, 2) for a in (1, 2)]
    suite = suite_of(render(trials, made_up.RUN.model_copy(update={"trials": 2})))
    assert [case.attrib["name"] for case in suite.findall("testcase")] == [
        "t [trial 1]",
        "t [trial 1] [attempt 2]",
        "t [trial 2]",
        "t [trial 2] [attempt 2]",
    ]


@pytest.mark.parametrize(
    ("path", "source", "file"),
    [
        ("suites/clinic", "tasks/refill.yml", "suites/clinic/tasks/refill.yml"),
        ("suites/refill.yml", "refill.yml", "suites/refill.yml"),
        (".", "refill.yml", "refill.yml"),
        ("suites/clinic", "", None),
    ],
)
def test_file_attribute_is_the_path_in_the_checkout(path: str, source: str, file: str | None) -> None:
    suite = suite_of(render([made_up.task_run("t")], made_up.RUN.model_copy(update={"path": path}), source))
    assert suite.findall("testcase")[0].get("file") == file


@pytest.mark.slow
def test_ten_thousand_long_failures_stay_below_gitlabs_limit() -> None:
    failed = tuple(made_up.criterion("x" * 400, detail="<" * 600) for _ in range(4))
    one = made_up.task_run("t", verdict="fail", score=0.0, criteria=failed)
    cases = [JunitCase(one, "t.yml", 0.0)] * 10_000
    size = sum(len(piece.encode()) for piece in render_junit(made_up.RUN, made_up.counts([]), lambda: cases))
    assert size < 30_000_000, "GitLab refuses it"
    assert MAX_TEXT_BYTES < 30_000_000


def test_a_real_run_has_its_times_and_files(bench: Workbench, tmp_path: Path) -> None:
    criteria = "criteria: [{label: Says so, assertion: {answer_matches: 5}}]"
    bench.write("deep/er/a.yml", f"tasks: [{{name: A, {criteria}}}, {{name: B, {criteria}}}]")

    def agent(task_item: Any) -> int:
        return 5

    task_runs = bench.run(agent)
    target = write_reports(bench.store, "latest", ReportTargets(junit=tmp_path / "out" / "junit.xml"))["junit"]
    suite = suite_of(target.read_text(encoding="utf-8"))
    assert [classify_result(task_run) for task_run in task_runs] == ["passed", "passed"]
    case = suite.findall("testcase")[0]
    assert case.attrib["classname"] == "suite.deep.er.a"
    assert case.attrib["file"] == str(bench.folder / "deep/er/a.yml")
    assert float(suite.attrib["time"]) > 0


@pytest.mark.parametrize("status", ["active", "cancelled"])
def test_a_run_that_was_not_finished_is_not_green(status: str) -> None:
    run = made_up.RUN.model_copy(update={"total": 5, "status": status})
    text = render([made_up.task_run("one")], run)
    suite = ElementTree.fromstring(text)[0]
    assert (suite.attrib["tests"], suite.attrib["errors"]) == ("2", "1")
    assert "4 trials were not run" in text
    assert f"clerkship resume {run.id}" in text
