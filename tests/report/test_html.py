"""The HTML report: complete, self-contained, safe and deterministic."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.event import MAX_INLINE_BYTES
from clerkship.model.run import BenchmarkRun, Counts, CriterionRun, Ending, FieldCheck, Status, Verdict
from clerkship.report.detail import MAX_BODY_BYTES, TaskDetail, parse_detail
from clerkship.report.html import MAX_PAGE_DATA, MAX_ROWS, fit_to_budget, render_html
from clerkship.report.labels import percent
from clerkship.report.outcome import ENDINGS, OUTCOMES, describe_reason
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import load_settings
from clerkship.store.sqlite import SqliteStore
from tests.report import made_up

CRASHED = made_up.task_run("t", verdict="fail", score=0.67, ending="agent_failed", agent_error="KeyError: 'mrn'")
# Names in Preact, which are never fetched.
NAMESPACES = ("http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML")
DEMO = Path(__file__).parents[1] / "front_desk"


class Elements(HTMLParser):
    """Collects the elements of the page and their text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_data(self, data: str) -> None:
        if self._open:
            self.text.setdefault(self._open[-1], []).append(data)


def page_of(details: list[TaskDetail], run: BenchmarkRun = made_up.RUN) -> str:
    """Return a page about made-up trials."""
    return render_html(run.model_copy(update={"total": len(details)}), made_up.counts(details), details)


def data_of(page: str) -> dict[str, Any]:
    """Return the data of the page's script."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = orjson.loads(found[1])
    return data


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BenchmarkRun, Counts, list[TaskDetail]]]:
    """Run the demo suite with its own agent, and load the run from its store."""
    store, catalog = SqliteStore(tmp_path_factory.mktemp("report") / "runs.db"), RegisteredCatalog()
    request = RunRequest(path=DEMO, agent="python:tests.front_desk.agent:FrontDesk")
    result = execute(plan_run(request, load_settings(), catalog), store, catalog)
    details = [
        parse_detail(task_run, store.log(task_run), store.sidecar(task_run), store.blob)
        for task_run in store.task_runs(result.run.id)
    ]
    yield result.run, result.counts, details
    store.close()


def test_demo_opens_on_its_failure(demo: tuple[BenchmarkRun, Counts, list[TaskDetail]]) -> None:
    page = render_html(*demo)
    first, *others = data_of(page)["trials"]
    assert first["outcome"] == "fail"
    assert "“The appointment stays private”" in first["body"]["reason"]
    assert [trial["outcome"] for trial in others] == ["pass"] * 4
    assert "80%" in page
    assert "--seed 0" in page


def test_demo_shows_every_criterion_expected_beside_actual(
    demo: tuple[BenchmarkRun, Counts, list[TaskDetail]],
) -> None:
    shown = {trial["task"]: trial["body"] for trial in data_of(render_html(*demo))["trials"]}
    for detail in demo[2]:
        run, body = detail.task_run, shown[detail.task_run.task]
        assert [criterion["label"] for criterion in body["criteria"]] == [c.label for c in run.criteria]
        for criterion, told in zip(run.criteria, body["criteria"], strict=True):
            checks = [FieldCheck.model_validate(check) for check in told["evidence"]]
            assert checks == list(criterion.evidence)
            assert (told["detail"], told["gate"], told["weight"]) == (
                criterion.detail,
                criterion.gate,
                criterion.weight,
            )


def test_demo_shows_the_whole_log_with_its_head(demo: tuple[BenchmarkRun, Counts, list[TaskDetail]]) -> None:
    shown = {trial["task"]: trial for trial in data_of(render_html(*demo))["trials"]}
    for detail in demo[2]:
        trial = shown[detail.task_run.task]
        assert [event["seq"] for event in trial["log"]] == list(range(1, detail.task_run.events + 1))
        assert trial["body"]["head"] == detail.task_run.head


def test_the_same_run_gives_the_same_bytes(demo: tuple[BenchmarkRun, Counts, list[TaskDetail]]) -> None:
    run, counts, details = demo
    assert render_html(run, counts, details) == render_html(run, counts, iter(details))


@pytest.mark.parametrize("details", [made_up.every_outcome(), made_up.hostile(), []])
def test_nothing_is_fetched(details: list[TaskDetail]) -> None:
    page = page_of(details)
    for tag, attributes in Elements(page).tags:
        assert tag not in {"link", "iframe", "object", "embed", "form", "base", "img", "audio", "video"}
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert "//" not in "".join(re.findall(r"url\((.*?)\)", page))
    assert "@import" not in page
    for name in NAMESPACES:
        page = page.replace(name, "")
    assert "http://" not in page
    assert "https://" not in page


def test_the_policy_names_the_only_script_and_style() -> None:
    elements = Elements(page_of(made_up.hostile()))
    [policy] = [attributes["content"] for tag, attributes in elements.tags if attributes.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert [attributes for tag, attributes in elements.tags if tag == "script"] == [
        {"type": "application/json", "id": "data"},
        {},
    ]


def test_hostile_strings_are_escaped() -> None:
    page = page_of(made_up.hostile(), made_up.RUN.model_copy(update={"name": made_up.SCRIPT, "solver": made_up.IMAGE}))
    assert made_up.SCRIPT not in page
    assert made_up.IMAGE not in page
    assert "<!--" not in page
    assert "\u2028" not in page.partition('id="data">')[2]
    [trial] = data_of(page)["trials"]
    assert made_up.SCRIPT in trial["task"]
    assert made_up.IMAGE in trial["body"]["criteria"][0]["evidence"][0]["actual"]
    assert made_up.COMMENT in trial["log"][2]["payload"]["text"]
    assert made_up.SCRIPT in "".join(Elements(page).text["h1"])


def test_the_script_never_parses_text_as_html() -> None:
    script = page_of([]).rpartition("<script>")[2]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|DOMParser", script)


def test_each_outcome_is_shown_separately() -> None:
    page = page_of(made_up.every_outcome())
    text = " ".join(re.sub(r"<[^>]+>", " ", page.partition("</header>")[0]).split())
    for tally in ("1 pass", "1 partial", "3 fail", "1 ungraded", "1 inconclusive", "1 errored", "1 cancelled"):
        assert tally in text
    assert "1 of 5 graded trials passed" in text
    assert "Not in the rate: 1 ungraded, 1 cancelled, 1 inconclusive, 1 invalid person, 1 errored." in text
    assert "1 failed trial ran out of time." in text
    assert "The agent crashed in 1 trial." in text
    outcomes = [trial["outcome"] for trial in data_of(page)["trials"]]
    assert sorted(outcomes, key=list(OUTCOMES).index) == outcomes


def test_errors_are_shown_where_they_belong() -> None:
    trials = {trial["task"]: trial for trial in data_of(page_of(made_up.every_outcome()))["trials"]}
    assert trials["it errs"]["body"]["error"] == "StepFailed: no such file"
    assert trials["its agent crashes"]["body"]["agent_error"].startswith("KeyError")
    assert trials["its agent crashes"]["crashed"]
    assert trials["it times out"]["timed_out"]
    assert "time limit" in trials["it times out"]["body"]["reason"]


def marks_of(*criteria: CriterionRun) -> list[tuple[int, bool, str]]:
    """Return the marks on events of a failed trial: event, whether its evidence holds, text."""
    run = made_up.task_run("t", verdict="fail", score=0.0, criteria=criteria)
    [trial] = data_of(page_of([made_up.detail(run)]))["trials"]
    return [(mark["seq"], mark["passed"], mark["text"]) for mark in trial["body"]["marks"]]


def test_an_event_that_satisfied_a_step_of_a_failed_sequence_is_not_marked_as_failed() -> None:
    rows = [("step 1", True, 2), ("step 2", True, 3), ("step 3", False, 4), ("step 4", False, None)]
    evidence = [FieldCheck(path=path, expected="x", actual="y", passed=ok, seq=seq) for path, ok, seq in rows]
    failed = made_up.criterion("In order", assertion="sequencing", evidence=tuple(evidence))
    assert marks_of(failed) == [(2, True, "In order: step 1"), (3, True, "In order: step 2"), (4, False, "In order")]


def test_event_cited_by_a_judge_for_a_failed_criterion_is_marked_as_failed() -> None:
    cite = FieldCheck(path="T2", expected={"contains": "no"}, actual="no", passed=True, seq=3)
    assert marks_of(made_up.criterion("Is polite", evidence=(cite,))) == [(3, False, "Is polite")]


def test_events_of_passed_criteria_carry_no_mark() -> None:
    good = FieldCheck(path="event", expected="x", actual="x", passed=True, seq=3)
    assert marks_of(made_up.criterion(passed=True, score=1.0, evidence=(good,))) == []


def test_a_crashed_trial_is_shown_as_a_failure_that_says_so() -> None:
    [trial] = data_of(page_of([made_up.detail(CRASHED)]))["trials"]
    assert trial["outcome"] == "fail"
    assert trial["body"]["status"] == "The agent crashed"
    assert trial["body"]["reason"].startswith("The agent crashed")


def test_a_passed_trial_with_a_failed_criterion_says_so() -> None:
    criteria = (made_up.criterion(passed=True), made_up.criterion("No names in it", gate=False))
    [trial] = data_of(page_of([made_up.detail(made_up.task_run("t", criteria=criteria))]))["trials"]
    assert trial["failed_criteria"] == 1
    assert trial["body"]["reason"] == "1 of 2 criteria passed; failed: “No names in it”."


def test_every_outcome_and_ending_has_a_text() -> None:
    assert set(OUTCOMES) == {*get_args(Verdict), *get_args(Status)} - {"completed", "timed_out"}
    assert set(ENDINGS) == set(get_args(Ending))
    assert all(describe_reason(detail.task_run) for detail in made_up.every_outcome())


def test_without_a_script_there_is_a_table() -> None:
    table = page_of(made_up.every_outcome()).partition("<noscript>")[2].partition("</noscript>")[0]
    for detail in made_up.every_outcome():
        assert f'<th scope="row">{detail.task_run.task}</th>' in table
    assert table.count("Errored") == 1


def test_thousand_trials_fit_and_failures_are_complete() -> None:
    details = made_up.many(1_000)
    page = page_of(details)
    assert len(page) < MAX_PAGE_DATA + 1_000_000
    trials = data_of(page)["trials"]
    urgent = [trial for trial in trials if trial["outcome"] != "pass"]
    assert len(trials) == 1_000
    assert len(urgent) == 120
    assert all(len(trial["log"]) == 14 for trial in urgent)
    assert all("body" in trial for trial in trials)
    assert any(not trial["log"] for trial in trials)
    assert "not shown, to keep the page small" in page


def test_long_log_keeps_the_cited_events() -> None:
    cited = FieldCheck(path="x", expected=1, actual=2, passed=False, seq=20_000)
    run = made_up.task_run("it goes on", verdict="fail", score=0.0, criteria=(made_up.criterion(evidence=(cited,)),))
    [shown] = fit_to_budget([made_up.detail(run, made_up.chatter(20_000))])
    seqs = [event["seq"] for event in orjson.loads(orjson.dumps(shown["log"]))]
    assert seqs[0] == 1
    assert seqs[-1] == 20_000
    assert 1_000 < len(seqs) < 20_000


def test_more_trials_than_fit_are_still_listed() -> None:
    shown = fit_to_budget(made_up.many(50), budget=20_000)
    assert len(shown) == 50
    assert "body" in shown[0]
    assert "body" not in shown[-1]


def test_long_list_is_cut_only_in_the_plain_table() -> None:
    page = page_of(made_up.many(MAX_ROWS + 1, 0))
    assert "1 more trials are left out of this table." in page
    assert len(data_of(page)["trials"]) == MAX_ROWS + 1


def test_late_events_are_shown_where_they_happened() -> None:
    late = made_up.event(6, "agent", "agent.slot.set", name="x") | {"at": "2026-03-02T14:00:02.500000Z"}
    [shown] = data_of(page_of([made_up.detail(made_up.task_run("late"), [*made_up.log(), late])]))["trials"]
    assert [event["seq"] for event in shown["log"]] == [1, 2, 6, 3, 4, 5]


def test_bodies_stored_outside_the_log_are_restored_and_cut() -> None:
    snapshot = made_up.detail(made_up.task_run("x")).snapshot
    assert snapshot is not None
    blobs = {"a": b"w" * (MAX_INLINE_BYTES + 1), "b": b"y" * (MAX_BODY_BYTES + 1), "c": b"\xff\xfe", "s": snapshot.data}
    kept = {
        name: {"form": form, "sha256": name, "size": len(blobs[name])}
        for name, form in {"a": "text", "b": "json", "c": "bytes"}.items()
    }
    line = orjson.dumps(made_up.event(1, "chat", "chat.message.sent") | {"blobs": kept})
    [event] = parse_detail(made_up.task_run("x", snapshot="s"), [line], b"", blobs.__getitem__).events
    assert event["payload"] == {"a": "w" * (MAX_INLINE_BYTES + 1), "b": "y" * MAX_BODY_BYTES + " …"}
    assert event["blobs"]["c"]["size"] == 2


def test_rates_are_never_rounded_up_to_all() -> None:
    assert percent(9_999 / 10_000) == "99.9%"
    assert percent(0.0001) == "0.1%"
    assert [percent(share) for share in (1.0, 0.0, 6 / 9, 0.994, 0.006, 1 - 1e-16)] == [
        "100%",
        "0%",
        "67%",
        "99.4%",
        "0.6%",
        "100%",
    ]
    assert "95 % interval 38% to 96%" in render_html(
        made_up.RUN, Counts(verdicts={"pass": 4, "fail": 1}, statuses={"completed": 5}), []
    )


def test_a_run_in_which_nothing_was_graded_has_no_rate() -> None:
    assert "no trial was graded" in page_of([])


def test_header_shows_repetition_and_flaky_tasks() -> None:
    trials = [made_up.task_run("coin <b>", trial=n, verdict="pass" if n % 2 else "fail") for n in (1, 2, 3, 4)]
    details = [made_up.detail(trial) for trial in trials]
    run = made_up.RUN.model_copy(update={"trials": 4, "made_by": "rerun", "origin": "run-1"})
    page = render_html(run, made_up.counts(details), details)
    assert "<b>pass^k</b> 50% at 1, 17% at 2, 0% at 4" in page
    assert '<span class="row-text">coin &lt;b&gt;</span><span class="row-count"><b>2</b> of 4</span>' in page
    assert "rerun of <code>run-1</code>" in page
    assert "pass^k" not in render_html(made_up.RUN, made_up.counts(details[:1]), details[:1])


@pytest.mark.parametrize(("number", "unfolded"), [(6, True), (7, False)])
def test_templates_are_listed_and_folded_if_many(number: int, unfolded: bool) -> None:
    trials = [
        made_up.task_run(f"T{template} [{n}]", template=f"T{template} <b>", verdict="pass" if n else "fail")
        for template in range(number)
        for n in (0, 1)
    ]
    page = page_of([made_up.detail(trial) for trial in trials])
    assert ('<details class="rated templates" open>' in page) == unfolded
    name = '<th scope="row" data-template="T3 &lt;b&gt;">T3 &lt;b&gt;</th>'
    assert f"<td>1 of 2</td><td>50%</td><td>9% to 91%</td><td>2</td>{name}" in page
    assert page.index("</section>") < page.index('class="rated templates"')
    assert {trial["template"] for trial in data_of(page)["trials"]} == {f"T{n} <b>" for n in range(number)}
