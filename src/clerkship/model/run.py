"""Records of runs, as they are stored and shown, with the differences between expected and actual values."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import orjson
from pydantic import BeforeValidator, JsonValue

from clerkship.model.bot_format import BotFormat
from clerkship.model.calibration import Calibration, JudgeIdentity
from clerkship.model.frozen import Frozen, build_unchecked
from clerkship.model.matcher import equals, is_matcher
from clerkship.model.model_choice import ModelChoice
from clerkship.model.path import MISSING
from clerkship.model.published import PublishedVersion
from clerkship.model.quality import Quality, Votes
from clerkship.model.run_options import RecordingMode
from clerkship.model.usage import NO_LIMITS, ModelLimits, Role, Usage

MAX_DIFFERENCES = 20
"""Differences that are listed; further ones are counted."""
MAX_COUNTED = 1000
MAX_VALUE_LENGTH = 200
"""Characters shown of each value."""
MAX_LEVELS = 64
"""Levels of lists and maps that are compared; deeper values are compared as a whole."""
MAX_CONTEXT_LENGTH = 20
"""Characters shown before the point where two long texts begin to differ."""
Status = Literal["completed", "timed_out", "errored", "invalid_person", "cancelled"]
Verdict = Literal["pass", "partial", "fail", "ungraded", "inconclusive"]
CriterionStatus = Literal["judged", "skipped", "error"]
Ending = Literal[
    "agent_done",  # on_task returned
    "person_done",  # the person's end rule matched
    "nothing_left",  # the person had nothing more to say
    "agent_silent",  # on_turn returned nothing
    "turn_limit",
    "agent_failed",
    "invalid_person",  # the model that plays the person broke the rules for it
    "turn_timed_out",  # one answer took longer than the turn timeout
    "timed_out",
    "cancelled",
    "errored",
]


ADDRESSED_JUDGE = "addressed_judge"
"""The path of a row of evidence with words of the agent that are meant for its judge."""


class ValueDifference(Frozen):
    """A path at which two values differ, such as `orders[2].dose`. Nested values are shown as JSON text."""

    path: str
    expected: Any
    actual: Any


class Differences(NamedTuple):
    """The first differences of a comparison, and the number of further ones."""

    first: tuple[ValueDifference, ...] = ()
    left_out: int = 0


def find_differences(expected: Any, actual: Any) -> Differences:
    """Compare two maps, or two lists, at every level.

    Return no differences for anything else: values that are not nested, matchers other than `equals`, a map and a
    list.
    """
    if is_matcher(expected) and expected.keys() == {"equals"}:
        expected = expected["equals"]
    if is_matcher(expected) or not (_are_maps(expected, actual) or _are_lists(expected, actual)):
        return Differences()
    differences = list(islice(_walk_differences("", expected, actual, MAX_LEVELS), MAX_COUNTED))
    first = tuple(_shorten(*difference) for difference in differences[:MAX_DIFFERENCES])
    return Differences(first, len(differences) - len(first))


def _walk_differences(path: str, expected: Any, actual: Any, depth: int) -> Iterator[tuple[str, Any, Any]]:
    if equals(expected, actual):
        return
    if depth and _are_maps(expected, actual):
        for key in dict.fromkeys((*expected, *actual)):
            inner_path = f"{path}.{key}" if path else str(key)
            yield from _walk_differences(inner_path, expected.get(key, MISSING), actual.get(key, MISSING), depth - 1)
    elif depth and _are_lists(expected, actual):
        yield from _compare_lists(path, expected, actual, depth)
    else:
        yield path, expected, actual


def _compare_lists(
    path: str, expected: Sequence[Any], actual: Sequence[Any], depth: int
) -> Iterator[tuple[str, Any, Any]]:
    """Compare lists item by item, without equal items at both ends, so that one inserted item is one difference."""
    shorter, start, end = min(len(expected), len(actual)), 0, 0
    while start < shorter and equals(expected[start], actual[start]):
        start += 1
    while end < shorter - start and equals(expected[-1 - end], actual[-1 - end]):
        end += 1
    for number in range(start, max(len(expected), len(actual)) - end):
        yield from _walk_differences(
            f"{path}[{number}]",
            expected[number] if number < len(expected) - end else MISSING,
            actual[number] if number < len(actual) - end else MISSING,
            depth - 1,
        )


def _shorten(path: str, expected: Any, actual: Any) -> ValueDifference:
    first, second = _to_plain(expected), _to_plain(actual)
    start = 0
    if isinstance(first, str) and isinstance(second, str) and max(len(first), len(second)) > MAX_VALUE_LENGTH:
        shared = next((n for n, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), 0)
        start = max(shared - MAX_CONTEXT_LENGTH, 0)
    return ValueDifference(path=path, expected=_cut(first, start), actual=_cut(second, start))


def _to_plain(value: Any) -> Any:
    if isinstance(value, bool | int | float | str | None):
        return value
    try:
        return orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, RecursionError):
        return repr(value)


def _cut(value: Any, start: int) -> Any:
    if not isinstance(value, str) or len(value) <= MAX_VALUE_LENGTH:
        return value
    end = start + MAX_VALUE_LENGTH
    return f"{'…' if start else ''}{value[start:end]}{'…' if end < len(value) else ''} ({len(value):,} characters)"


def _are_maps(expected: Any, actual: Any) -> bool:
    return isinstance(expected, Mapping) and isinstance(actual, Mapping)


def _are_lists(expected: Any, actual: Any) -> bool:
    return isinstance(expected, list | tuple) and isinstance(actual, list | tuple)


class FieldCheck(Frozen):
    """One expected value beside the actual one."""

    path: str
    expected: Any
    actual: Any
    passed: bool
    seq: int | None = None
    differences: tuple[ValueDifference, ...] = ()
    """The differences of two nested values, if they were compared."""
    differences_left_out: int = 0

    @classmethod
    def of_text(cls, path: str, expected: str, actual: str, passed: bool, seq: int | None = None) -> "FieldCheck":
        """Build a row about texts, in half the time that the class takes to check its fields."""
        fields = {"path": path, "expected": expected, "actual": actual, "passed": passed, "seq": seq}
        return build_unchecked(FieldCheck, {**fields, "differences": (), "differences_left_out": 0})

    def with_differences(self, expected: Any, actual: Any) -> Self:
        """Return a copy with the differences of two nested values, if they differ."""
        compared = find_differences(expected, actual)
        update = {"differences": compared.first, "differences_left_out": compared.left_out}
        return self.model_copy(update=update) if compared.first else self

    def forbidden(self) -> Self:
        """Return a copy for a check that failed because the value was as described: `expected` is negated."""
        update = {"expected": {"not": self.expected}, "passed": False, "differences": (), "differences_left_out": 0}
        return self.model_copy(update=update)


PageBox = tuple[int, int, int, int]
"""Left, top, width and height on a page, in dots."""


class PageMark(Frozen):
    """A value that a criterion looked for on a page."""

    text: str
    sort: Literal["found", "missing", "forbidden"]
    """`found` and `missing` are expected values; `forbidden` is a value that must not be there and is."""
    boxes: tuple[PageBox, ...] = ()
    """The words that were found; empty for `missing`."""


class PagePicture(Frozen):
    """A page that a criterion looked at. The page itself is in the log, stored by its hash."""

    source: str
    """The sandbox whose log has the page."""
    page: str
    """The hash of the page."""
    caption: str = ""
    marks: tuple[PageMark, ...] = ()


class CriterionRun(Frozen):
    """The result of one criterion, with its evidence."""

    omitted_when_empty: ClassVar[frozenset[str]] = frozenset({"pictures", "monitor"})
    label: str
    assertion: str
    status: CriterionStatus
    passed: bool = False
    score: float = 0.0
    detail: str = ""
    evidence: tuple[FieldCheck, ...] = ()
    pictures: tuple[PagePicture, ...] = ()
    """Pages that were looked at, with the words that were found on them."""
    weight: float = 1.0
    axis: str | None = None
    input_entity_id: str | None = None
    gate: bool = False
    traceback: str = ""
    """The traceback, if the assertion raised an exception."""
    monitor: bool = False
    """Whether it is a monitor, which runs on every task."""

    @property
    def is_implied(self) -> bool:
        """Whether no author wrote it: the gate that every task has, or a monitor."""
        return self.monitor or self.is_inaction_gate

    @property
    def is_inaction_gate(self) -> bool:
        """Whether it is the gate `agent_acted` that every task has."""
        return self.assertion == "agent_acted" and not self.weight

    @property
    def is_warning(self) -> bool:
        """Whether it is a monitor that is only shown: it changes no verdict, rate or exit code."""
        return self.monitor and not self.gate


PASS_THRESHOLD = 0.9
"""The score from which a trial passes."""
DEFAULT_AXIS = "__default__"
"""The axis of criteria that name none."""


class AxisScore(Frozen):
    """The weighted mean of one axis."""

    score: float
    weight: float


class Attempt(NamedTuple):
    """A trial of a run, and the number of the attempt at it."""

    task: str
    trial: int
    attempt: int


class TrialOutcome(NamedTuple):
    """The outcome of one trial, as far as planning needs it."""

    task: str
    trial: int
    attempt: int
    status: Status
    verdict: Verdict | None


class TaskRun(Frozen):
    """The record of one trial of one task."""

    run: str
    task: str
    trial: int = 1
    attempt: int = 1
    status: Status
    verdict: Verdict | None = None
    score: float | None = None
    axes: dict[str, AxisScore] = {}
    criteria: tuple[CriterionRun, ...] = ()
    ending: Ending
    timeout: float | None = None
    """Time limit in wall seconds."""
    error: str = ""
    agent_error: str = ""
    answer: JsonValue = None
    head: str
    events: int
    snapshot: str
    template: str = ""
    """Name of the task in the file, if `for_each` made this one from it."""
    tags: tuple[str, ...] = ()
    models: dict[Role, Usage] = {}
    """Usage of models, by role."""
    quality: Quality | None = None
    """Ratings of the conversation, if requested. They do not change the verdict."""
    notes: tuple[str, ...] = ()
    """What went wrong with the agent's model, such as an answer that was cut off. It does not change the verdict."""

    def outcome(self) -> TrialOutcome:
        return TrialOutcome(self.task, self.trial, self.attempt, self.status, self.verdict)


HUMAN = "human"
"""The solver of runs in which a person does the tasks."""
IsolationLevel = Literal["bubblewrap", "landlock", "none", "trusted", "remote", "built-in"]
"""How an agent was isolated from the tasks' files and from this process. A Python agent in this process is trusted, one
at an address is remote, and a built-in one needs no isolation."""


MetricsScope = Literal["all", "scenarios", "own", "none"]
"""Which conversations are rated by metrics: all, those with a `simulation_context`, those for which the files have
metrics or a prompt, or none."""


def to_metrics_scope(is_wanted: bool | None) -> MetricsScope:
    """Return which conversations are rated if all of them are wanted, none, or neither is said."""
    return "own" if is_wanted is None else "all" if is_wanted else "none"


def _from_flag(value: object) -> object:
    """Read the flag of earlier records, which had no way to turn metrics off."""
    return ("all" if value else "own") if isinstance(value, bool) else value


class ModelOptions(Frozen):
    """Further settings of a run for the models it uses."""

    prompts: dict[str, str] = {}
    """Custom prompts, by the name of the built-in prompt that each replaces."""
    metrics: Annotated[MetricsScope, BeforeValidator(_from_flag)] = "own"
    """Which conversations are rated."""
    votes: Votes = 1
    """How often a judge is asked about each criterion that sets no number itself."""
    checks_person: bool = False
    """Whether a model checks that the person was played as described."""
    tape: RecordingMode | None = None
    """Whether answers of models are recorded, or replayed from a recording."""
    tapes_agent: bool = False
    """Whether answers of the agent are recorded too."""
    max_tokens: int | None = None
    """Maximum number of tokens of one answer, if an option sets it. It does not change which recording is used."""
    model_timeout: float | None = None
    """Wall seconds for one answer, if an option sets them."""
    limits: ModelLimits = NO_LIMITS
    """Limits of the agent's model calls, if options set them."""


class ForkOrigin(Frozen):
    """The point of an earlier run at which a forked run begins."""

    run: str
    """The run whose log it begins with."""
    task: str
    trial: int
    turn: int
    """The first turn that the agent of the new run answers."""
    head: str
    """Hash of the log lines that it begins with."""
    warm_up: bool = False
    """Whether the agent answers the earlier messages again, instead of receiving them as history."""


class Shard(Frozen):
    """One of several parts of a run's trials, each run by itself. Together they are the whole run."""

    number: int
    """From 1 on."""
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


class MergedShard(Frozen):
    """A shard that is part of a merged run."""

    run: str
    """The id of the shard's own run."""
    trials: str
    """SHA-256 over the seals of its trials, in hexadecimal."""


class BenchmarkRun(Frozen):
    """The record of one execution of some tasks with one agent."""

    id: str
    name: str
    plan: str = ""
    """Hash of the plan."""
    made_by: Literal["run", "rerun", "rescore", "fork"] = "run"
    origin: str = ""
    """The run that it was made from, if any."""
    fork: ForkOrigin | None = None
    """The point at which it was forked from another run, if it was."""
    path: str = ""
    options: tuple[str, ...] = ()
    solver: str
    seed: int
    trials: int
    until_sure: float | None = None
    """The threshold of `until_sure`, if the trials of a task end by it."""
    bot_format: BotFormat | None = None
    """How requests to its agent are built, if that is a bot over HTTP with a format of its own."""
    concurrency: int | None = None
    """Number of concurrent trials, as requested or as the benchmark sets it."""
    started_at: str
    completed_at: str | None = None
    status: Literal["active", "completed", "cancelled"] = "active"
    total: int
    criteria: int = 0
    """Number of criteria that decide verdicts: those with a weight, and gates."""
    allow_ungraded: bool = False
    """Whether the exit code may be 0 although no criterion was judged."""
    grading: str
    clerkship: str
    judge: ModelChoice | None = None
    """The model that judges, if any."""
    person: ModelChoice | None = None
    """The model that plays people who are not scripted, if any."""
    asking: ModelOptions = ModelOptions()
    judging: JudgeIdentity | None = None
    """The judge that was used, if any. Only calibrations of this judge apply to this run."""
    calibration: Calibration | None = None
    """The calibration of that judge, or of the most similar one, that was known at the start."""
    plugins: dict[str, str] = {}
    """Plug-in packages that its tasks and its agent need, with their versions."""
    variables: tuple[str, ...] | None = None
    """Names of the environment variables that its tasks use; None for runs of versions that did not record them."""
    isolation: IsolationLevel | None = None
    """How its agent was isolated; None for runs of versions that did not record it."""
    published: PublishedVersion | None = None
    """The published version that its tasks are from, or that its files are a copy of."""
    changed_tasks: tuple[str, ...] | None = None
    """The tasks in which its files differ from that version; None if it ran the version itself, or if there is none."""
    sealed: bool = False
    """Whether it was saved with seals; False for runs of versions that had none."""
    commit: str = ""
    """The git commit of the folder in which it was started, if that is known; a replay has none."""
    shard: Shard | None = None
    """The part of the plan's trials that it runs; None if it runs all of them."""
    shards: tuple[MergedShard, ...] = ()
    """The runs that it was merged from, in the order of their shards."""

    @property
    def is_replayed(self) -> bool:
        """Whether all model answers are replayed. Such a run gives the same result on every machine."""
        return self.asking.tape == "replay"

    @property
    def lineage(self) -> str:
        """What it was made from, or is a part of, in words, such as `rerun of r-12`; empty for a new, whole run."""
        turn = f" at turn {self.fork.turn}" if self.fork is not None and self.made_by == "fork" else ""
        part = f"shard {self.shard}" if self.shard is not None else ""
        merged = f"merged from {len(self.shards)} shard{'s' * (len(self.shards) != 1)}" if self.shards else ""
        return ", ".join(filter(None, [f"{self.made_by} of {self.origin}{turn}" if self.origin else "", part, merged]))

    def count_missing(self, counts: "Counts") -> int:
        """Return the number of trials that were planned and not done; 0 for a completed run, which may have stopped
        early.
        """
        return 0 if self.status == "completed" else max(self.total - counts.done, 0)

    def exit_code(self, counts: "Counts") -> int:
        """Return the exit code of the run: 130 if cancelled, 2 if incomplete or ungraded, otherwise by its trials."""
        if self.status == "cancelled":
            return 130
        if self.status != "completed" or (self.is_ungraded(counts) and not self.allow_ungraded):
            return 2
        return counts.exit_code()

    def is_ungraded(self, counts: "Counts") -> bool:
        """Return whether there are criteria and none was judged in any trial. Of a shard, the merged run decides."""
        return self.shard is None and self.criteria > 0 and counts.verdicts.get("ungraded", 0) > 0 and not counts.graded


class Counts(Frozen):
    """The numbers of trials by outcome. Errored trials are shown, but not part of the pass rate."""

    verdicts: dict[str, int]
    statuses: dict[str, int]
    agent_errors: int = 0
    """Trials in which the agent crashed; their verdict is fail, so `verdicts` counts them too."""

    @property
    def done(self) -> int:
        """Number of trials with a record."""
        return sum(self.statuses.values())

    @property
    def graded(self) -> int:
        """Number of trials with the verdict pass, partial or fail."""
        return sum(self.verdicts.get(verdict, 0) for verdict in ("pass", "partial", "fail"))

    @property
    def passed(self) -> int:
        """Number of trials that passed."""
        return self.verdicts.get("pass", 0)

    def exit_code(self) -> int:
        """Return the exit code: 130 if a trial was cancelled, 2 if one has no verdict, 1 if one failed, otherwise 0."""
        statuses, verdicts = self.statuses, self.verdicts
        if statuses.get("cancelled"):
            return 130
        if statuses.get("errored") or statuses.get("invalid_person") or verdicts.get("inconclusive"):
            return 2
        return 1 if verdicts.get("partial") or verdicts.get("fail") else 0
