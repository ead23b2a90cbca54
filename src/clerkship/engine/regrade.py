"""Grade a trial again from its stored log, without running anything."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from clerkship.engine.build import BuiltTask
from clerkship.engine.grader import Grade, Grader
from clerkship.engine.models import NO_MODELS, ModelSelection
from clerkship.events.event import Event, Payload, parse_event
from clerkship.events.lifecycle import AgentAnswered
from clerkship.events.log import compute_head
from clerkship.events.sidecar import Sidecar
from clerkship.model.errors import InputError, PlatformError
from clerkship.model.run import Ending, TaskRun
from clerkship.model.variables import UnknownVariable
from clerkship.playground.playground import replay
from clerkship.settings import get_template_variables

Kinds = Mapping[str, type[Payload]]
NOT_MEASURED = Sidecar()
# The fields of a record that change if a trial cannot be graded again.
_ERRORED: dict[str, Any] = {"status": "errored", "ending": "errored", "verdict": None, "score": None}
_ERRORED |= {"axes": {}, "criteria": (), "quality": None}


class StoredLog(NamedTuple):
    """The log of a trial as it is stored, and what was measured, which is stored beside it."""

    lines: Sequence[bytes]
    blob: Callable[[str], bytes]
    measured: Sidecar = NOT_MEASURED


class UnknownEvent(PlatformError):
    """Raised when a log has an event of an unknown kind."""


def parse_log(lines: Iterable[bytes], kinds: Kinds, blob: Callable[[str], bytes]) -> list[Event]:
    """Return the events of a log in the order in which they were logged.

    The log has the names of variables instead of their values. They are replaced by the current values. Raises
    InputError if a variable is not set, and UnknownEvent if a kind of event is unknown.
    """
    values = get_template_variables()
    try:
        return [parse_event(line, kinds, blob, values) for line in lines]
    except UnknownVariable as unknown:
        raise InputError.of(
            f"the log cannot be read: {unknown}", hint="set it to the value that it had in the run"
        ) from None
    except KeyError as error:
        raise UnknownEvent(f"the log has an event of the unknown kind {error}: is a plug-in missing?") from None


def grade_log(
    grader: Grader,
    built: BuiltTask,
    events: Sequence[Event],
    ending: Ending,
    measured: Sidecar = NOT_MEASURED,
) -> Grade:
    """Grade a log. The states of sandboxes are rebuilt from its events; `measured` is from the sidecar."""
    ordered = sorted(events, key=lambda event: (event.at, event.seq))
    answers = [event.payload.answer for event in events if isinstance(event.payload, AgentAnswered)]
    return grader.grade(grader.evidence(ordered, replay(built.components, events), ending, answers, measured))


def regrade(
    built: BuiltTask, graded: TaskRun, stored: StoredLog, kinds: Kinds, models: ModelSelection = NO_MODELS
) -> TaskRun:
    """Return the record of a trial with a new verdict, by the criteria of `built`."""
    if compute_head(stored.lines) != graded.head:
        error = "the stored log is not the one that was graded: the hash of its lines differs from the stored hash"
        return graded.model_copy(update=_ERRORED | {"error": error, "snapshot": built.snapshot.hash})
    grader = Grader(built, models, graded.trial)
    criteria, score, quality, notes = grade_log(
        grader, built, parse_log(stored.lines, kinds, stored.blob), graded.ending, stored.measured
    )
    recording_error = models.recording_error(graded.task, graded.trial)
    if recording_error:
        return graded.model_copy(update=_ERRORED | {"error": recording_error, "snapshot": built.snapshot.hash})
    return graded.model_copy(
        update={
            "criteria": criteria,
            "verdict": score.verdict,
            "score": score.score,
            "axes": score.axes,
            "snapshot": built.snapshot.hash,
            "models": grader.usage.used(),
            "quality": quality,
            "notes": notes,
        }
    )
