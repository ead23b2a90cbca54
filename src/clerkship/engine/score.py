"""Check each criterion against the evidence, and compute the verdict of a trial from all of them.

Apart from the answers of models, the result depends only on the evidence, so a stored trial can be graded again.

See docs/decisions/0007-outcomes-and-grading.md.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from clerkship.assertions.agent_acted import AgentActed, had_turn
from clerkship.assertions.evaluation import AssertionOutcome, evaluate
from clerkship.events.evidence import Evidence
from clerkship.kit.depth import cut_at_depth
from clerkship.llm.trial_model import map_concurrently
from clerkship.model.call import AssertionCall
from clerkship.model.frozen import build_unchecked
from clerkship.model.redaction import build_redactor, redact_criterion
from clerkship.model.run import (
    DEFAULT_AXIS,
    PASS_THRESHOLD,
    AxisScore,
    CriterionRun,
    Ending,
    FieldCheck,
    Status,
    Verdict,
)
from clerkship.model.task import Criterion
from clerkship.model.variables import unescape_text
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.sandbox.monitor import Monitor

NO_VARIABLES: Mapping[str, str] = {}
ImpliedChecks = tuple[tuple[Criterion, Assertion], ...]
"""Checks of a task that its author did not write."""
AGENT_ACTED_CHECK = (
    Criterion(
        label="The agent acted",
        assertion=AssertionCall.model_validate({AgentActed.name: None}),
        weight=0.0,
        gate=True,
    ),
    AgentActed(),
)


class Score(NamedTuple):
    """The verdict and scores of a trial."""

    verdict: Verdict | None
    score: float | None
    axes: dict[str, AxisScore]


def check_criteria(
    checks: Iterable[tuple[Criterion, Assertion]],
    evidence: Evidence,
    *,
    skip_judged: bool = False,
    variables: Mapping[str, str] = NO_VARIABLES,
) -> tuple[CriterionRun, ...]:
    """Check every criterion, whatever the ending.

    No model is asked if the trial is not completed, because the answer could not change the verdict. In the results,
    values of variables are replaced by the `${NAME}` that the author wrote.
    """
    skip = "judging was turned off" if skip_judged else _skip_reason(evidence.ending)
    pairs = tuple(checks)
    asking = [assertion.asks_model for _, assertion in pairs]
    if skip or True not in asking:
        results = tuple(
            [
                _check_criterion(criterion, assertion, evidence, skip if asks else "")
                for (criterion, assertion), asks in zip(pairs, asking, strict=True)
            ]
        )
    else:
        results = _check_concurrently(pairs, evidence)
    if not variables:
        return results
    return tuple(redact_criterion(result, build_redactor(variables)) for result in results)


def implied_checks(evidence: Evidence, monitors: ImpliedChecks = ()) -> ImpliedChecks:
    """Return the gate `agent_acted`, which every task has unless it allows inaction, and the monitors.

    There are none with `compat: rasa`, because Rasa has no such rules, and no gate if the agent never had a turn.
    """
    if evidence.is_rasa_compatible:
        return ()
    if evidence.task.allow_inaction or not had_turn(evidence):
        return monitors
    return (AGENT_ACTED_CHECK, *monitors) if monitors else (AGENT_ACTED_CHECK,)


def remove_partial_scores(criteria: Iterable[CriterionRun]) -> tuple[CriterionRun, ...]:
    """Return the criteria with score 0 where they failed, for an agent that did nothing."""
    return tuple(
        criterion if criterion.passed or not criterion.score else criterion.model_copy(update={"score": 0.0})
        for criterion in criteria
    )


def _check_concurrently(pairs: Sequence[tuple[Criterion, Assertion]], evidence: Evidence) -> tuple[CriterionRun, ...]:
    """Check all criteria, those that ask a model concurrently. The results have the order of the criteria."""

    def check(pair: tuple[Criterion, Assertion]) -> CriterionRun:
        return _check_criterion(*pair, evidence, "")

    answers = iter(
        map_concurrently(check, [pair for pair in pairs if pair[1].asks_model], waits=evidence.is_model_slow)
    )
    return tuple(next(answers) if pair[1].asks_model else check(pair) for pair in pairs)


def _skip_reason(ending: Ending) -> str:
    status = status_of(ending)
    return "" if status == "completed" else f"no model was asked, because the trial is {status.replace('_', ' ')}"


def _check_criterion(criterion: Criterion, assertion: Assertion, evidence: Evidence, skip: str) -> CriterionRun:
    if criterion.input_entity_id is not None:
        evidence = evidence.for_entity(criterion.input_entity_id)
    outcome = _evaluate_without_model(assertion, evidence) if skip else evaluate(assertion, evidence)
    is_monitor = isinstance(assertion, Monitor)
    if outcome is not None and outcome.status == "error" and is_monitor and _got_no_answer(assertion, outcome):
        skip, outcome = outcome.check.detail, None
    check = Check.of(False, skip) if outcome is None else outcome.check
    if outcome is not None and evidence.subject is not None:
        check = _add_subject(check, evidence.subject)
    score = check.score
    return CriterionRun(
        label=unescape_text(criterion.label),
        assertion=criterion.assertion.name,
        status="skipped" if outcome is None else outcome.status,
        passed=check.passed,
        score=0.0 if score < 0 else 1.0 if score > 1 else score,
        detail=check.detail,
        evidence=tuple(map(_limit_depth, check.evidence)),
        pictures=check.pictures,
        weight=criterion.weight,
        axis=criterion.axis,
        input_entity_id=criterion.input_entity_id,
        gate=bool(criterion.gate),
        traceback="" if outcome is None else outcome.traceback,
        monitor=is_monitor,
    )


def _got_no_answer(assertion: Assertion, outcome: AssertionOutcome) -> bool:
    """Return whether an error is a missing answer of a model: a monitor is then skipped. A mistake has a traceback."""
    return assertion.asks_model and not outcome.traceback


def _add_subject(check: Check, entity: str) -> Check:
    """Return a check whose detail says which record it is limited to."""
    if re.search(rf"\b{re.escape(entity)}\b", check.detail):
        return check
    return check._replace(detail=f"{check.detail} (only what concerns {entity})")


def _evaluate_without_model(assertion: Assertion, evidence: Evidence) -> AssertionOutcome | None:
    """Return the result of an assertion that passes whatever a model answers; None if only a model can decide.

    An example is `any_of` with one assertion that asks a model and one that passes without it.
    """
    reduced = assertion.without_model()
    outcome = None if reduced is None else evaluate(reduced, evidence)
    return outcome if outcome is not None and outcome.check.passed else None


def _limit_depth(row: FieldCheck) -> FieldCheck:
    """Cut data of the agent that is nested too deeply for a record."""
    if type(row.actual) is str:
        return row
    actual = cut_at_depth(row.actual)
    return row if actual is row.actual else row.model_copy(update={"actual": actual})


def compute_score(criteria: Sequence[CriterionRun], status: Status, *, crashed: bool = False) -> Score:
    """Compute verdict, score and axes. A crash of the agent fails the trial, but does not change the score."""
    judged = [criterion for criterion in criteria if criterion.status == "judged"]
    counted = [criterion for criterion in judged if criterion.weight > 0]
    axes = _score_axes(counted)
    if status == "timed_out":
        return Score("fail", 0.0, axes)
    if status != "completed":
        return Score(None, None, {})
    score = _weighted_mean(judged)
    if crashed or [criterion for criterion in judged if criterion.gate and not criterion.passed]:
        return Score("fail", score, axes)
    if not criteria:
        return Score("ungraded", None, {})
    if [criterion for criterion in criteria if criterion.status == "error" and (criterion.gate or criterion.weight)]:
        if counted and score == 0:  # every criterion that could be judged failed
            return Score("fail", score, axes)
        return Score("inconclusive", None, axes)
    if score is None:
        return Score("ungraded", None, axes)
    # The sum of weighted scores has rounding errors: 9 of 10 equal criteria must reach 0.9.
    return Score("pass" if score >= PASS_THRESHOLD - 1e-12 else "partial" if score > 0 else "fail", score, axes)


def _weighted_mean(criteria: Sequence[CriterionRun]) -> float | None:
    earned = weight = 0.0
    for criterion in criteria:
        earned += criterion.score * criterion.weight
        weight += criterion.weight
    return earned / weight if weight else None


def _score_axes(judged: Sequence[CriterionRun]) -> dict[str, AxisScore]:
    by_axis: dict[str, list[CriterionRun]] = {}
    for criterion in judged:
        by_axis.setdefault(criterion.axis or DEFAULT_AXIS, []).append(criterion)
    return {axis: _score_axis(by_axis[axis]) for axis in sorted(by_axis)}


def _score_axis(criteria: Sequence[CriterionRun]) -> AxisScore:
    fields = {"score": _weighted_mean(criteria) or 0.0, "weight": sum([criterion.weight for criterion in criteria])}
    return build_unchecked(AxisScore, fields)


def is_crash(ending: Ending) -> bool:
    """Return whether the agent raised an error or returned an invalid answer."""
    return ending == "agent_failed"


def status_of(ending: Ending) -> Status:
    """Return the status of a trial with this ending."""
    match ending:
        case "timed_out" | "cancelled" | "errored" | "invalid_person":
            return ending
        case "turn_timed_out":
            return "timed_out"
    return "completed"
