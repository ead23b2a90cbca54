"""A verdict from a log that is kept: the same fold over the same evidence, without running anything."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from clerkship.engine.build import BuiltTask
from clerkship.engine.models import ALONE, ModelSelection
from clerkship.engine.quality import rate
from clerkship.engine.score import Score, fold, implied_checks, is_crash, judge, status_of
from clerkship.events.event import Event, Payload, parse_event
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import AgentAnswered
from clerkship.events.log import chain_head
from clerkship.llm.asker import Tally
from clerkship.model.problem import InputError, PlatformError
from clerkship.model.quality import Quality
from clerkship.model.run import CriterionRun, Ending, TaskRun
from clerkship.model.variables import UnknownVariable
from clerkship.playground.playground import replay
from clerkship.settings import variables

Kinds = Mapping[str, type[Payload]]
_ERRORED: dict[str, Any] = {"status": "errored", "ending": "errored", "verdict": None, "score": None}
_ERRORED |= {"axes": {}, "criteria": (), "quality": None}


class UnknownEvent(PlatformError):
    """A log has an event of a kind that nothing here knows."""


def parse_log(lines: Iterable[bytes], kinds: Kinds, blob: Callable[[str], bytes]) -> list[Event]:
    """Return the events as they arrived, with the values that variables have now where the log has their names."""
    values = variables()
    try:
        return [parse_event(line, kinds, blob, values) for line in lines]
    except UnknownVariable as unknown:
        raise InputError.of(
            f"the log cannot be read: {unknown}", hint="set it as it was when the run was made"
        ) from None
    except KeyError as error:
        raise UnknownEvent(
            f"the log has an event {error}, which no simulator here knows: is a plug-in missing?"
        ) from None


def grade(
    built: BuiltTask, events: Sequence[Event], ending: Ending, models: ModelSelection, trial: int, tally: Tally
) -> tuple[tuple[CriterionRun, ...], Score, Quality | None]:
    """Every criterion of a task over these events, and their fold; and its metrics, if it is rated. States are rebuilt
    by reading the log again."""
    answered = [event.payload for event in events if isinstance(event.payload, AgentAnswered)]
    evidence = Evidence(
        task=built.task,
        events=sorted(events, key=lambda event: (event.at, event.seq)),
        states=replay(built.components, events),
        ending=ending,
        answer=answered[-1].answer if answered else None,
        answered=bool(answered),
        entities=built.snapshot.entities,
        model=models.asker("judge", built.snapshot, trial, tally),
        prompts=models.prompts,
        parameters=models.parameters,
        votes=models.asking.votes,
        observers=built.observers,
    )
    checks = (*built.checks, *implied_checks(evidence))
    criteria = judge(checks, evidence, skip_judged=models.skips_judged, variables=built.variables)
    status = status_of(ending)
    rated = models.rates(built.task) and status == "completed"
    asker = models.asker("metrics", built.snapshot, trial, tally) if rated else None
    quality = rate(evidence, asker, built.variables) if rated else None
    return criteria, fold(criteria, status, crashed=is_crash(ending)), quality


def regrade(
    built: BuiltTask,
    graded: TaskRun,
    lines: Sequence[bytes],
    kinds: Kinds,
    blob: Callable[[str], bytes],
    models: ModelSelection = ALONE,
) -> TaskRun:
    """A trial's record with its verdict found again, by the criteria of `built`."""
    if chain_head(lines) != graded.head:
        error = "the log that is kept is not the one that was graded: its lines do not lead to its head"
        return graded.model_copy(update=_ERRORED | {"error": error, "snapshot": built.snapshot.hash})
    tally = Tally()
    events = parse_log(lines, kinds, blob)
    criteria, folded, quality = grade(built, events, graded.ending, models, graded.trial, tally)
    missed = models.missed(graded.task, graded.trial)
    if missed:
        return graded.model_copy(update=_ERRORED | {"error": missed, "snapshot": built.snapshot.hash})
    return graded.model_copy(
        update={
            "criteria": criteria,
            "verdict": folded.verdict,
            "score": folded.score,
            "axes": folded.axes,
            "snapshot": built.snapshot.hash,
            "models": tally.used(),
            "quality": quality,
        }
    )
