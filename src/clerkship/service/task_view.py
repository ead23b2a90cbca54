"""Show one stored trial with its log."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from clerkship.events.event import parse_line
from clerkship.events.lifecycle import StepFailed
from clerkship.events.log import HashChain
from clerkship.events.query import matches_kind
from clerkship.model.names import did_you_mean, find_matching_names
from clerkship.model.redaction import Redactor, redact_task_run
from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.model.snapshot import Snapshot
from clerkship.report.calls import find_phone_names
from clerkship.service.log_redaction import SpeechRedactor, redact_page_words
from clerkship.service.reading import NOT_CHECKED
from clerkship.service.stored_runs import load_snapshot
from clerkship.store.contract import Store, StoreDamaged, UnknownRun

MAX_UTTERANCES = 200
"""Messages of one trial that are shown."""
MAX_CALL_EVENTS = 20_000
"""Events of phone calls that are read."""
MAX_SPEECH_BYTES = 4096
"""Bytes of one speech that are read, if it is stored outside the log."""
_BROKE = "person.broke_contract"
_MADE_UP = "person.made_up_facts"
_CAUSED_BY_AGENT = b'"by_agent":true'
_CALL = b'"kind":"voice.'
_NOT_SHOWN = ("voice.session.changed", "voice.call.heard")
"""Frequent events of calls that are not shown."""
_TURN, _BLOBS, _ENDED, _PERSON = b'"turn":', b'"blobs":', b'.ended"', b'"kind":"person.'
"""A line of the log is parsed for the conversation only if it contains one of these: most lines do not."""


@dataclass(frozen=True)
class TaskView:
    """A trial with its log, and whether the log is the one that was graded."""

    task_run: TaskRun
    snapshot: Snapshot
    events: list[dict[str, Any]]
    sidecar: dict[str, Any]
    intact: bool
    """Whether the log is the one that was graded."""
    utterances: list[tuple[str, str]] = field(default_factory=list)
    """Actor and text of each message, up to MAX_UTTERANCES."""
    attempts: tuple[TaskRun, ...] = ()
    """Earlier attempts, which were interrupted."""
    trials: tuple[TaskRun, ...] = ()
    """All repetitions of its task, itself included."""
    replayed: bool = False
    """Whether the answers of its models come from a recording."""
    damaged: tuple[str, ...] = ()
    """A sentence for each part that cannot be parsed and is not included."""
    seals: SealCheck = NOT_CHECKED
    """Whether the trials of its task were changed since they were saved."""
    call_events: list[dict[str, Any]] = field(default_factory=list)
    """Events of phone calls, up to MAX_CALL_EVENTS."""
    phone_names: dict[str, str] = field(default_factory=dict)
    """Names of lines and people, by number, if there are calls."""
    indexed: str = ""
    """The verdict in the store's index if it differs from the record, or "no verdict"; else empty."""

    def redacted(self, by: Redactor) -> "TaskView":
        """Return a view with values of variables redacted."""
        if not by:
            return self
        of_events, of_calls = SpeechRedactor(by), SpeechRedactor(by)
        return replace(
            self,
            task_run=redact_task_run(self.task_run, by),
            events=[by.event(redact_page_words(of_events.redact(event), by)) for event in self.events],
            sidecar=by.data(self.sidecar),
            utterances=[(actor, by.text(text)) for actor, text in self.utterances],
            call_events=[by.event(of_calls.redact(event)) for event in self.call_events],
            phone_names=by.data(self.phone_names),
            attempts=tuple(redact_task_run(attempt, by) for attempt in self.attempts),
        )


@dataclass(frozen=True)
class EventFilter:
    """Which events of a log to show."""

    kind: str | None = None
    after: int = 0
    limit: int | None = None


def show_task(
    store: Store, reference: str, name: str, trial: int | None = None, event_filter: EventFilter | None = None
) -> TaskView:
    """Return one trial, by the name of its task or a unique part of it; by default the first that did not pass."""
    run = store.run(reference)
    damaged: list[str] = []
    chosen, trials = find_trials(store, run, name, trial, damaged)
    attempts = store.task_runs(run.id, task=chosen.task, attempts=True, damaged=damaged)
    before = tuple(a for a in attempts if a.trial == chosen.trial and a.attempt < chosen.attempt)
    view = load_task_view(store, chosen, event_filter or EventFilter())
    damage = tuple(dict.fromkeys((*damaged, *view.damaged)))
    seals = store.check_seals(run.id, task=chosen.task)
    view = replace(view, attempts=before, trials=tuple(trials), replayed=run.is_replayed, damaged=damage, seals=seals)
    return replace(view, indexed=_find_indexed_verdict(store, chosen)) if seals.is_changed else view


def _find_indexed_verdict(store: Store, task_run: TaskRun) -> str:
    """Return the verdict in the store's index if it differs from that of the record."""
    recorded = task_run.outcome()
    indexed = next((one for one in store.outcomes(task_run.run) if one[:3] == recorded[:3]), recorded)
    return "" if indexed.verdict == recorded.verdict else str(indexed.verdict or "no verdict")


def find_trials(
    store: Store, run: BenchmarkRun, name: str, trial: int | None, damaged: list[str] | None = None
) -> tuple[TaskRun, list[TaskRun]]:
    """Return the chosen trial, and all trials of its task; for `damaged` see `Store.task_runs`."""
    trials = store.task_runs(run.id, task=name, damaged=damaged)
    if not trials and not damaged:
        trials = _find_by_name_part(store.task_runs(run.id, damaged=damaged), name)
    matching = [task_run for task_run in trials if trial in (None, task_run.trial)]
    if not matching and damaged:
        raise StoreDamaged(f"{damaged[0]}; `clerkship show {run.id}` shows the other trials")
    if not matching:
        raise UnknownRun(f"{run.id} has no trial {trial} of {name!r}; it has {', '.join(str(t.trial) for t in trials)}")
    return next((ran for ran in matching if ran.verdict not in ("pass", "ungraded")), matching[0]), trials


def _find_by_name_part(task_runs: list[TaskRun], part: str) -> list[TaskRun]:
    names = sorted({task_run.task for task_run in task_runs})
    matches = find_matching_names(part, names)
    if len(matches) == 1:
        return [task_run for task_run in task_runs if task_run.task == matches[0]]
    hint = f"it matches {len(matches)} tasks: {'; '.join(matches[:5])}" if matches else did_you_mean(part, names)
    raise UnknownRun(f"unknown task {part!r}; {hint or '`clerkship show` without a task lists all'}")


def load_task_view(store: Store, task_run: TaskRun, event_filter: EventFilter = EventFilter()) -> TaskView:  # noqa: B008  (EventFilter is frozen)
    """Load a trial with its log, which is read once, line by line."""
    chain, events = HashChain(), list[dict[str, Any]]()
    bodies: set[str] = set()
    utterances: list[tuple[str, str, str]] = []
    call_events: list[dict[str, Any]] = []
    damaged: list[str] = []
    for seq, line in enumerate(store.log(task_run), 1):
        chain.add(line)
        is_wanted = seq > event_filter.after and (event_filter.limit is None or len(events) < event_filter.limit)
        # Written out rather than with `any`: most lines of a long log are only counted, which must be fast.
        is_conversation = (
            _TURN in line
            or _BLOBS in line
            or _ENDED in line
            or _PERSON in line
            or _CAUSED_BY_AGENT in line
            or _CALL in line
        )
        if not is_wanted and not is_conversation:
            continue
        try:
            event = parse_line(line)
            bodies.update(blob["sha256"] for blob in event.get("blobs", {}).values())
            utterances += _read_utterances(event, with_utterances=len(utterances) < MAX_UTTERANCES)
            if _CALL in line and event["kind"] not in _NOT_SHOWN and len(call_events) < MAX_CALL_EVENTS:
                call_events.append(_restore_speech(event, store))
            if is_wanted and (event_filter.kind is None or matches_kind(event["kind"], event_filter.kind)):
                events.append(event)
        except (ValueError, KeyError, TypeError, AttributeError) as error:  # a changed line may be any JSON
            damaged.append(f"the log of {task_run.task} (trial {task_run.trial}) is corrupt at event {seq}: {error}")
    snapshot = load_snapshot(store, task_run.snapshot)
    return TaskView(
        task_run,
        snapshot,
        events,
        _sidecar(store, task_run, damaged),
        chain.head == task_run.head and all(_has_valid_hash(store, digest) for digest in bodies),
        _with_sandboxes(utterances),
        damaged=tuple(damaged),
        call_events=call_events,
        phone_names=find_phone_names(snapshot, task_run.trial) if call_events else {},
    )


def _restore_speech(event: dict[str, Any], store: Store) -> dict[str, Any]:
    """Return the event of a call with the beginning of a text that is stored outside the log."""
    texts = {
        name: store.blob(blob["sha256"])[:MAX_SPEECH_BYTES].decode(errors="ignore")
        for name, blob in event.get("blobs", {}).items()
        if blob["form"] == "text"
    }
    return event | {"payload": event["payload"] | texts} if texts else event


def _sidecar(store: Store, task_run: TaskRun, damaged: list[str]) -> dict[str, Any]:
    try:
        sidecar: dict[str, Any] = orjson.loads(store.sidecar(task_run))
    except orjson.JSONDecodeError as error:
        damaged.append(f"the sidecar of {task_run.task} (trial {task_run.trial}) is corrupt: {error}")
        return {}
    return sidecar


def _read_utterances(event: dict[str, Any], *, with_utterances: bool) -> Iterator[tuple[str, str, str]]:
    """Yield sandbox, actor and text of the messages in an event, and of remarks that explain the conversation."""
    payload, kind, actor, sandbox = event["payload"], event["kind"], event["actor"], event["source"]
    is_in_call = kind.startswith("voice.")  # calls are shown separately, with times, keys and holds
    if with_utterances and not is_in_call and "turn" in payload and isinstance(payload.get("text"), str):
        yield _find_place(event), actor, _render_message(payload)
    if kind == _BROKE:
        yield sandbox, "person", f"(out of role; not said: {payload.get('would_have_said') or 'nothing'})"
    if kind == _MADE_UP and with_utterances:
        yield sandbox, "person", f"(made up: {', '.join(payload['facts'])})"
    if kind == StepFailed.kind and payload.get("by_agent"):
        yield "", "scenario", f"(because of the agent's actions, {payload['step']} failed: {payload['reason']})"
    if kind.endswith((".session.ended", ".conversation.ended")) and payload.get("detail"):
        yield _find_place(event), actor, f"({payload['detail']})"


def _find_place(event: dict[str, Any]) -> str:
    """Return where a message was sent: the sandbox, with channel and address of the other side if it has any."""
    payload, sandbox = event["payload"], event["source"]
    header = payload.get("header") or payload
    if "channel" not in header:
        return str(sandbox)
    is_sent = event["kind"].endswith(".message.sent")
    address = ", ".join(header["to"]) if is_sent else header.get("sender") or header.get("address")
    return f"{sandbox} ({header['channel']} {address})"


def _with_sandboxes(utterances: Sequence[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Return actor and text of each message; with its place if there are several, or if it has an address."""
    several = len({sandbox for sandbox, _, _ in utterances if sandbox not in ("", "run")}) > 1
    return [
        (f"{actor} on {place}" if place and (several or place.endswith(")")) else actor, text)
        for place, actor, text in utterances
    ]


def _render_message(payload: dict[str, Any]) -> str:
    """Return a message as text: the text, then buttons, then custom data."""
    buttons = [f"[{button.get('title', button)}]" for button in payload.get("buttons") or ()]
    custom = [orjson.dumps(payload["custom"]).decode()] if payload.get("custom") else []
    return " ".join(part for part in (payload["text"], *buttons, *custom) if part)


def _has_valid_hash(store: Store, digest: str) -> bool:
    return hashlib.sha256(store.blob(digest)).hexdigest() == digest
