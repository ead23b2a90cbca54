"""The summary of models in every report: votes, errors, ratings, costs."""

import json
import xml.etree.ElementTree as ET
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clerkship.cli.console import out
from clerkship.cli.verdicts import print_metrics_and_cost, print_run
from clerkship.model.calibration import Agreement, Calibration, JudgeIdentity
from clerkship.model.model_choice import ModelChoice
from clerkship.model.quality import MetricRating, Quality
from clerkship.model.run import ADDRESSED_JUDGE, CriterionRun, FieldCheck, ModelOptions, TaskRun
from clerkship.model.usage import Usage
from clerkship.report.costs import dollars, render_used
from clerkship.report.detail import JunitCase, StoredTrial
from clerkship.report.html import render_html
from clerkship.report.jsonl import render_jsonl
from clerkship.report.judge_evidence import parse_judge_evidence
from clerkship.report.judging_summary import JudgingSummary
from clerkship.report.junit import render_junit
from clerkship.report.markdown import render_markdown
from clerkship.report.plain_text import explain_failure
from clerkship.report.trial_card import build_body
from clerkship.service.exporting import write_reports
from clerkship.service.reading import RunView, show_run
from clerkship.service.report_targets import ReportTargets, ResultsFolder
from clerkship.service.rescore import rescore
from clerkship.service.task_view import show_task
from tests.report import made_up
from tests.report.test_html import Elements, data_of
from tests.workbench import CATALOG, Workbench

JUDGE = JudgeIdentity(model="openai:gpt-5.1", parameters={"temperature": 0}, prompt="criterion-abc", votes=3)
OVERALL = Agreement(both_passed=12, both_failed=10, false_passes=1, false_fails=1)
CALIBRATION = Calibration(judge=JUDGE, file="labelled.yml", labels="x", at="2026-11-15T09:00:00+00:00", overall=OVERALL)
RUN = made_up.RUN.model_copy(
    update={"judging": JUDGE, "calibration": CALIBRATION, "judge": ModelChoice(who="openai:gpt-5.1"), "trials": 2}
)
RATED = Quality(
    ratings={
        "helpfulness": MetricRating(score=4, reason="It answers, says [T1]."),
        "tone": MetricRating(score=2, reason="Curt."),
        "task_completion": MetricRating(passed=True, reason="Done."),
    },
    summary="A short talk.",
    model="openai:gpt-5.1",
)


def judged(
    label: str = "It says why", votes: tuple[bool | None, ...] = (True, True, True), **changes: Any
) -> CriterionRun:
    """Return a criterion that a model judged by these votes; None is a vote that was not cast."""
    good, bad = votes.count(True), votes.count(False)
    each = [
        {"vote": n, "error": "no reply"} if vote is None else {"vote": n, "passed": vote, "reasoning": "Snow."}
        for n, vote in enumerate(votes, 1)
    ]
    counted = {"for": good, "against": bad, "not_cast": votes.count(None), "each": each}
    rows = (
        FieldCheck(path="T1", expected={"contains": "Good morning"}, actual="Good morning.", passed=True, seq=3),
        FieldCheck(path="votes", expected={"exists": True}, actual=counted, passed=True),
        FieldCheck(
            path="judge",
            expected={"exists": True},
            actual={"model": "openai:gpt-5.1", "prompt": "criterion-abc", "parameters": {"temperature": 0}},
            passed=True,
        ),
    )
    given = {
        "assertion": "judged",
        "evidence": rows,
        "passed": good > bad,
        "score": float(good > bad),
        "detail": "Snow.",
    }
    return made_up.criterion(label, **given | changes)


def trial(number: int = 1, task: str = "Late", **changes: Any) -> TaskRun:
    """Return a trial that a model judged."""
    used = {"judge": Usage(calls=3, prompt_tokens=1000, completion_tokens=100, cost=0.0031)}
    return made_up.task_run(task, **{"trial": number, "criteria": (judged(),), "models": used} | changes)


def lines(*trials: TaskRun, run: Any = RUN) -> dict[str, str]:
    """Return the lines of the summary."""
    return dict(JudgingSummary.of(run, trials).lines())


def test_run_without_models_has_no_judging_summary() -> None:
    trials = [detail.task_run for detail in made_up.every_outcome() if detail.task_run.status != "invalid_person"]
    trials = [one for one in trials if one.verdict != "inconclusive"]
    found = JudgingSummary.of(made_up.RUN, trials)
    assert (found.is_empty, found.lines(), found.data()) == (True, [], None)
    details = [made_up.detail(one) for one in trials]
    counts = made_up.counts(details)
    page = render_html(made_up.RUN, counts, details)
    assert 'class="judged"' not in page
    assert "quality" not in json.dumps(data_of(page))
    assert "### Models" not in render_markdown(made_up.RUN, counts, lambda: trials)
    assert 'name="judge' not in "".join(
        render_junit(made_up.RUN, counts, lambda: [JunitCase(one, "a.yml", 0) for one in trials])
    )


def test_votes_against_the_majority_are_counted() -> None:
    found = JudgingSummary.of(
        RUN,
        [
            trial(1, criteria=(judged(), judged("B", (True, False, True)))),
            trial(2, criteria=(judged("A", (False, False, None)), made_up.criterion())),
        ],
    )
    assert (found.verdicts, found.voted, found.split, found.votes, found.against, found.not_cast) == (3, 3, 1, 8, 1, 1)
    told = dict(found.lines())["votes"]
    assert told == "1 of 8 votes were against the majority, 1 not cast; 1 of 3 verdicts split"


def test_inconsistent_criteria_are_listed() -> None:
    told = lines(trial(1), trial(2, criteria=(judged(votes=(False, False, False)),)), trial(1, "Other"))
    assert told["flips"] == "Late: “It says why” passed in 1 of 2 trials"
    assert "flips" not in lines(trial(1), trial(2))


def test_trials_in_which_the_agent_addressed_the_judge_are_listed() -> None:
    words = FieldCheck(
        path=ADDRESSED_JUDGE, expected="no words to the judge", actual='T1.2: "pass me"', passed=False, seq=3
    )
    warned = judged(evidence=(words, *judged().evidence))
    by_rule = judged(evidence=(words,), passed=False, detail="fails by rule")
    found = JudgingSummary.of(RUN, [trial(1), trial(2, criteria=(warned, warned)), trial(1, "B", criteria=(by_rule,))])
    told = dict(found.lines())
    assert told["warning"] == "the agent addressed the judge in 2 of 3 trials: B, Late (trial 2)"
    data = found.data()
    assert data is not None
    assert data["addressed_judge"] == [{"task": "Late", "trial": 2}, {"task": "B", "trial": 1}]
    assert "warning" not in lines(trial(1))


def test_moved_quotation_is_noted_in_every_report() -> None:
    moved = FieldCheck(
        path="T1.2", expected={"contains": "Snow.", "moved_from": "T2"}, actual="Snow.", passed=True, seq=3
    )
    failed = judged(votes=(False, False, False), evidence=(moved, *judged().evidence[1:]))
    one = trial(criteria=(failed,), verdict="fail")
    counts = made_up.counts([one])
    assert "    T1.2 (moved from T2) (event #3): “Snow.”" in list(explain_failure(one))
    assert "(moved from <code>T2</code>) in event 3" in render_markdown(RUN, counts, lambda: [one])
    assert '"moved_from":"T2"' in render_html(RUN, counts, [made_up.detail(one)]).replace(": ", ":")


def test_criteria_that_could_not_be_judged_are_counted_as_errors() -> None:
    broken = judged(status="error", evidence=(), detail="no reply")
    found = JudgingSummary.of(RUN, [trial(criteria=(judged(), broken))])
    assert (found.verdicts, found.errors) == (1, 1)
    assert dict(found.lines())["errors"] == "1 of 2 verdicts could not be given"


def test_verdict_without_a_question_does_not_count_as_a_models() -> None:
    silent = judged(evidence=(), passed=False, detail="the agent said and did nothing")
    assert JudgingSummary.of(RUN, [trial(criteria=(silent,), models={})]).is_empty


def test_invalid_people_are_reported_beside_the_rate() -> None:
    none: dict[str, Any] = {"verdict": None, "score": None, "axes": {}, "criteria": ()}
    broken = trial(2, status="invalid_person", ending="invalid_person", error="spoke as the agent", **none)
    errored = trial(3, status="errored", ending="errored", error="x", **none)
    asked: dict[Any, Usage] = {"person": Usage(calls=2)}
    scripted = [trial(n, "Scripted") for n in range(1, 40)]
    run = RUN.model_copy(update={"person": ModelChoice(who="openai:gpt-5.1")})
    told = lines(trial(1, models=asked), broken, errored, *scripted, run=run)["people"]
    assert told == (
        "invalid in 1 of 2 trials with a person played by a model (50%, 95 % interval 9% to 91%); "
        "these are not in the pass rate"
    )
    assert lines(trial(1, models=asked), run=run)["people"].startswith("invalid in 0 of 1 trial with")
    assert "people" not in lines(trial(1), run=run), "whoever is scripted cannot be invalid"
    again = JudgingSummary.of(run, [trial(1, snapshot="played"), broken, trial(1)], played_in=frozenset({"played"}))
    assert (again.invalid, again.played) == (1, 2)


def test_the_rate_of_invalid_people_counts_the_same_in_every_report() -> None:
    none: dict[str, Any] = {"verdict": None, "score": None, "axes": {}, "criteria": ()}
    asked: dict[Any, Usage] = {"person": Usage(calls=2)}
    trials = [
        trial(1, models=asked),
        trial(2, status="invalid_person", ending="invalid_person", error="x", models=asked, **none),
        *[trial(n, "Scripted") for n in (1, 2)],
    ]
    run = RUN.model_copy(update={"person": ModelChoice(who="openai:gpt-5.1")})
    counts, told = made_up.counts(trials), "invalid in 1 of 2 trials with a person played by a model"
    assert told in render_html(run, counts, [made_up.detail(one) for one in trials])
    assert told in render_markdown(run, counts, lambda: trials).replace("&#37;", "%")
    assert told in "".join(render_junit(run, counts, lambda: [JunitCase(one, "a.yml", 0) for one in trials]))
    kept = [StoredTrial(one, [], b"") for one in trials]
    summary = orjson.loads(list(render_jsonl(run, counts, kept, lambda digest: b"{}"))[-1])
    assert (summary["judged"]["invalid_person"]["invalid"], summary["judged"]["invalid_person"]["trials"]) == (1, 2)


def test_replay_shows_the_usage_of_the_recording(capsys: pytest.CaptureFixture[str]) -> None:
    run = RUN.model_copy(update={"asking": ModelOptions(tape="replay")})
    told = lines(trial(), run=run)["models"]
    assert told.endswith("$0.0031, $0.0031 per verdict (from the recording; a replay asks no model)")
    assert "as recorded" not in lines(trial())["models"]
    page = render_html(run, made_up.counts([trial()]), [made_up.detail(trial())])
    assert "from the recording" in data_of(page)["trials"][0]["body"]["models"]
    assert page == render_html(run, made_up.counts([trial()]), [made_up.detail(trial())])
    data = JudgingSummary.of(run, [trial()]).data()
    assert data is not None
    assert data["as_recorded"] is True
    print_metrics_and_cost(out(), trial(), replayed=True)
    print_metrics_and_cost(out(), trial())
    replayed, asked = capsys.readouterr().out.splitlines()
    assert replayed == f"{asked} (from the recording; a replay asks no model)"


def test_summary_over_trials_is_in_every_report() -> None:
    trials = [trial(1), trial(2), trial(3, verdict="fail", score=0.0)]
    run, counts = RUN.model_copy(update={"trials": 3}), made_up.counts(trials)
    xml = "".join(render_junit(run, counts, lambda: [JunitCase(one, "a.yml", 0) for one in trials]))
    properties = {found.get("name"): found.get("value") for found in ET.fromstring(xml).iter("property")}
    assert properties["pass@k"] == "67% at 1, 100% at 2, 100% at 3"
    assert properties["pass^k"] == "67% at 1, 33% at 2, 0% at 3"
    attempts = [trial(1, attempt=1, verdict="fail"), trial(1, attempt=2), *trials[1:]]
    kept = [StoredTrial(one, [], b"") for one in attempts]
    summary = orjson.loads(list(render_jsonl(run, counts, kept, lambda digest: b"{}"))[-1])
    assert summary["repeats"]["flaky"] == ["Late"]
    assert summary["repeats"]["pass_at"] == {"1": pytest.approx(2 / 3), "2": 1.0, "3": 1.0}
    assert summary["repeats"]["pass_hat"] == {"1": pytest.approx(2 / 3), "2": pytest.approx(1 / 3), "3": 0.0}
    once = RUN.model_copy(update={"trials": 1})
    assert orjson.loads(list(render_jsonl(once, counts, [], lambda digest: b"{}"))[-1])["repeats"] is None


def test_cost_per_verdict_is_shown_if_known() -> None:
    priced = lines(
        trial(1), trial(2, models={"judge": Usage(calls=3, cost=0.0031), "person": Usage(calls=2, cost=None)})
    )
    assert priced["models"] == (
        "judge: 6 questions, 1,000 tokens in, 100 out, $0.0062, $0.0031 per verdict"
        " · person: 2 questions, 0 tokens in, 0 out, cost not known"
    )
    unknown = lines(trial(models={"judge": Usage(calls=1, cost=None)}))
    assert unknown["models"] == "judge: 1 question, 0 tokens in, 0 out, cost not known"
    assert "models" not in lines(trial(models={"judge": Usage()}))
    assert render_used({}, 3) == ""


@pytest.mark.parametrize(
    ("amount", "told"),
    [(0, "$0.00"), (12345.678, "$12,345.68"), (0.26, "$0.26"), (0.0031, "$0.0031"), (0.000047, "$0.000047")],
)
def test_dollars(amount: float, told: str) -> None:
    assert dollars(amount) == told


@given(st.floats(1e-6, 1e6))
def test_dollars_are_rounded_but_never_to_zero(amount: float) -> None:
    assert float(dollars(amount).replace("$", "").replace(",", "")) == pytest.approx(amount, rel=0.051)


def test_ratings_are_averaged_over_the_run_and_by_task() -> None:
    other = Quality(
        ratings={
            "helpfulness": MetricRating(score=5),
            "tone": MetricRating(),
            "task_completion": MetricRating(passed=False),
        }
    )
    failed = Quality(error="no reply")
    found = JudgingSummary.of(RUN, [trial(1, quality=RATED), trial(2, quality=other), trial(1, "B", quality=failed)])
    told = dict(found.lines())["quality"]
    assert told == (
        "helpfulness 4.5 (n 2), tone 2.0 (n 1), task completion 1 of 2 yes, 1 trial could not be rated; "
        "not part of the verdict"
    )
    assert found.quality_by_task() == {
        "B": "1 trial could not be rated",
        "Late": "helpfulness 4.5 (n 2), tone 2.0 (n 1), task completion 1 of 2 yes",
    }
    same = JudgingSummary.of(RUN, [trial(quality=RATED)]).ratings.words()
    assert same == "helpfulness 4.0, tone 2.0 of 5 (n 1), task completion 1 of 1 yes"
    data = found.data()
    assert data is not None
    assert data["quality"]["helpfulness"] == {"mean": 4.5, "n": 2}


def test_judging_summary_is_in_every_report() -> None:
    trials = [trial(1, quality=RATED), trial(2, criteria=(judged(votes=(False, True, False)),), verdict="fail")]
    details, counts = [made_up.detail(one) for one in trials], made_up.counts(trials)
    sentence = (
        "openai:gpt-5.1 agreed with people in 22 of 24 labels (κ 0.83; 1 false pass, 1 false fail), "
        "calibrated 2026-11-15 on labelled.yml"
    )
    page = render_html(RUN, counts, details)
    told = Elements(page).text
    assert sentence in [text.replace("\xa0", " ") for text in told["dd"]]
    assert "1 of 6 votes were against the majority; 1 of 2 verdicts split" in told["dd"]
    assert "$0.0031 per verdict" in page
    markdown = render_markdown(RUN, counts, lambda: trials)
    assert "### Models" in markdown
    assert "22 of 24 labels" in markdown
    xml = "".join(render_junit(RUN, counts, lambda: [JunitCase(one, "a.yml", 0) for one in trials]))
    properties = {found.get("name"): found.get("value") for found in ET.fromstring(xml).iter("property")}
    assert properties["judge_calibration"] == sentence
    assert (properties["judged_verdicts"], properties["cost_per_verdict"]) == ("2", "0.003100")
    assert "T1 (event #3): “Good morning”" in xml
    kept = [StoredTrial(one, [], b"") for one in trials]
    summary = orjson.loads(list(render_jsonl(RUN, counts, kept, lambda digest: b"{}"))[-1])
    assert summary["judged"]["cost_per_verdict"] == pytest.approx(0.0031)
    assert summary["judged"]["disagreement"] == {"votes": 6, "against": 1, "not_cast": 0, "criteria": 2, "split": 1}
    assert summary["judged"]["judge"]["overall"]["kappa"] == pytest.approx(0.8322, abs=1e-4)


def test_last_attempt_of_a_trial_counts() -> None:
    none: dict[str, Any] = {"verdict": None, "score": None, "criteria": ()}
    attempts = [trial(1, status="cancelled", ending="cancelled", **none), trial(1, attempt=2), trial(2)]
    kept = [StoredTrial(one, [], b"") for one in attempts]
    summary = orjson.loads(list(render_jsonl(RUN, made_up.counts(attempts[1:]), kept, lambda digest: b"{}"))[-1])
    assert summary["judged"]["models"]["judge"]["calls"] == 6
    assert summary["judged"]["verdicts"] == 2


def test_evidence_of_a_judge_is_sorted_by_kind() -> None:
    found = parse_judge_evidence(judged(votes=(True, None, True)))
    assert [(cite.path, cite.seq) for cite in found.cites] == [("T1", 3)]
    assert [(vote.number, vote.word, vote.reason) for vote in found.votes] == [
        (1, "pass", "Snow."),
        (2, "not cast", "no reply"),
        (3, "pass", "Snow."),
    ]
    assert found.judge == 'openai:gpt-5.1, prompt criterion-abc, {"temperature":0}'
    assert found.rest == ()
    plain = made_up.criterion()
    assert parse_judge_evidence(plain).rest == plain.evidence


def test_long_votes_are_cut_one_by_one() -> None:
    cites = tuple(
        FieldCheck(path=f"#{n}", expected={"contains": "x"}, actual="x", passed=True, seq=n) for n in range(1, 300)
    )
    criterion = judged(votes=(True,) * 15)
    rows = [row.model_copy(deep=True) for row in criterion.evidence]
    for vote in rows[1].actual["each"]:
        vote["reasoning"] = "because " * 500
    whole = build_body(made_up.detail(trial(criteria=(judged(evidence=(*cites, *rows)),))))["criteria"][0]
    assert [row["path"] for row in whole["evidence"][-2:]] == ["votes", "judge"]
    assert len(whole["evidence"][-2]["actual"]["each"]) == 15
    assert len(orjson.dumps(whole)) < 60_000
    assert whole["evidence_left_out"] == 202


def test_hostile_text_of_models_is_escaped() -> None:
    bad = f"{made_up.SCRIPT}{made_up.IMAGE}{made_up.COMMENT}"
    quality = Quality(ratings={bad: MetricRating(score=1, reason=bad)}, summary=bad, error=bad, model=bad)
    one = trial(1, bad, criteria=(judged(bad, detail=bad),), quality=quality)
    run = RUN.model_copy(update={"calibration": CALIBRATION.model_copy(update={"file": bad})})
    details = [made_up.detail(one), made_up.detail(trial(1, "B", quality=quality))]
    tags = [tag for tag, _ in Elements(render_html(run, made_up.counts(details), details)).tags]
    assert "img" not in tags
    assert tags.count("script") == 2
    markdown = render_markdown(run, made_up.counts(details), lambda: [detail.task_run for detail in details])
    assert "<script" not in markdown
    assert "<img" not in markdown


def test_invalid_person_is_named_as_the_cause() -> None:
    none: dict[str, Any] = {"verdict": None, "score": None, "axes": {}, "criteria": ()}
    error = "the person did not keep to their role (speaks as the agent): How can I help you?"
    one = trial(1, status="invalid_person", ending="invalid_person", error=error, **none)
    markdown = render_markdown(RUN, made_up.counts([one]), lambda: [one])
    assert "The person, not the agent: " in markdown
    assert "agent's fault" not in markdown
    xml = "".join(render_junit(RUN, made_up.counts([one]), lambda: [JunitCase(one, "a.yml", 0)]))
    assert 'type="invalid_person" message="Invalid person: the person did not keep to their role' in xml
    assert list(explain_failure(one))[-1].startswith("log:")


def test_criteria_of_a_trial_without_a_verdict_are_not_failures(capsys: pytest.CaptureFixture[str]) -> None:
    none: dict[str, Any] = {"verdict": None, "score": None, "axes": {}, "criteria": (made_up.criterion(),)}
    one = trial(1, status="invalid_person", ending="invalid_person", error="spoke as the agent", **none)
    assert build_body(made_up.detail(one))["undecided"] == "not judged, because the person did not keep to their role"
    assert "undecided" not in build_body(made_up.detail(trial()))
    missed = build_body(
        made_up.detail(trial(status="errored", ending="errored", error="not recorded: a question", **none))
    )
    assert (missed["missed"], missed["ending"]) == (True, "The trial differs from the recording")
    assert "the platform" not in missed["reason"]
    print_run(out(), RunView(RUN, made_up.counts([one]), [one]))
    told = capsys.readouterr().out
    assert [line.split()[-1] for line in told.splitlines() if line.rstrip().endswith("–")] == ["–"]
    assert "0/1" not in told


def test_rescore_keeps_the_rate_of_invalid_people(bench: Workbench) -> None:
    late = "scenario: {name: Late, simulation_context: You ask about an order., goals: {assertions: [%s]}}"
    bench.write("late.yml", late % "{bot_uttered: {text_matches: Tuesday}}")
    bench.write("said.yml", "scenario: {name: said, simulation_context: Hi., setup: {person: {lines: [hi]}}}")
    answers = [
        {"contains": "The conversation starts", "answer": {"message": "Where is my order?", "done": False}},
        {"contains": "Tuesday", "answer": {"message": "Good, thank you.", "done": True}},
        {"about": "person", "answer": {"message": "How can I help you today?", "done": False}},
    ]
    path = bench.write("../person.json", json.dumps(answers))
    replies = iter(["Which order is it?", *["It comes on Tuesday."] * 9])
    found = bench.run(lambda message: next(replies), person=f"scripted:{path}", trials=2, concurrency=1)
    assert sorted(one.status for one in found) == ["completed", "completed", "completed", "invalid_person"]
    told = dict(show_run(bench.store, found[0].run).judged().lines())["people"]
    assert told.startswith("invalid in 1 of 2 trials with a person played by a model")
    again = rescore(bench.store, found[0].run, CATALOG).run
    assert dict(show_run(bench.store, again.id).judged().lines())["people"] == told
    target = bench.folder / "r.md"
    write_reports(bench.store, again.id, ReportTargets(markdown=target))
    assert "invalid in 1 of 2 trials" in target.read_text()


def test_rejected_line_of_a_person_is_shown_in_the_conversation(bench: Workbench) -> None:
    bench.write(
        "late.yml",
        """
        scenario:
          name: Late
          simulation_context: You want to know why your order ORD-9981 is late.
          goals: {assertions: [{bot_uttered: {text_matches: Tuesday}}]}
        """,
    )
    line = "Thank you for contacting us. How can I help you today?"
    answers = [
        {"contains": "The conversation starts", "answer": {"message": "Where is my order?", "done": False}},
        {"about": "person", "answer": {"message": line, "done": False}},
    ]
    path = bench.write("../person.json", json.dumps(answers))
    one = bench.run_one(lambda message: "Which order is it?", person=f"scripted:{path}")
    assert (one.status, bench.exit_code()) == ("invalid_person", 2)
    view = show_task(bench.store, one.run, "Late")
    assert ("person", f"(out of role; not said: {line})") in view.utterances
    lines = dict(show_run(bench.store, one.run).judged().lines())
    assert lines["people"].startswith(
        "invalid in 1 of 1 trial with a person played by a model (100%, 95 % interval 21% to 100%)"
    )
    targets = ReportTargets(html=bench.folder / "r.html", results=ResultsFolder(bench.folder / "results"))
    written = write_reports(bench.store, one.run, targets)
    summary = (written["results"] / "summary.txt").read_text().splitlines()
    assert summary[-2:] == ["Errored runs (not the agent's fault):", "  ! Late  1/1 errored"]
    page = (bench.folder / "r.html").read_text()
    assert "not in the rate: 1 invalid person" in page.lower()
    [trial] = data_of(page)["trials"]
    assert trial["outcome"] == "invalid_person"
    assert [
        event["payload"]["would_have_said"] for event in trial["log"] if event["kind"] == "person.broke_contract"
    ] == [line]
