"""Read the fork point of a conversation from a stored log."""

from collections.abc import Iterable, Sequence

import orjson

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.fork_point import ForkPoint, HandedMessage
from clerkship.engine.past_conversation import find_handed_messages
from clerkship.engine.regrade import parse_log
from clerkship.events.event import Event, find_conversations
from clerkship.events.lifecycle import AgentStarted, RunStarted
from clerkship.events.log import compute_head
from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun, ForkOrigin, TaskRun
from clerkship.playground.playground import SavedLog
from clerkship.service.stored_runs import require_intact
from clerkship.store.contract import Store


def load_fork_point(store: Store, run: BenchmarkRun, catalog: RegisteredCatalog) -> ForkPoint | None:
    """Return the fork point of a run, or None if it is not a fork. Raise InputError if the stored log has changed."""
    fork = run.fork
    if fork is None:
        return None
    origin = store.run(fork.run).id
    require_intact(store, origin, fork.task)
    trials = [ran for ran in store.task_runs(origin, task=fork.task) if ran.trial == fork.trial]
    if not trials:
        raise InputError.of(
            f"{run.id} is a fork of trial {fork.trial} of {fork.task!r}, which {fork.run} does not have"
        )
    fork_point = read_fork_point(store, trials[0], fork.turn, catalog, warm_up=fork.warm_up)
    if fork_point.fork.head != fork.head:
        raise InputError.of(f"{run.id} is a fork of {fork.run}, whose log has changed since")
    return fork_point


def read_fork_point(
    store: Store, ran: TaskRun, turn: int, catalog: RegisteredCatalog, *, warm_up: bool = False
) -> ForkPoint:
    """Read a trial up to the message that starts a turn. Raise InputError if there is no such turn."""
    which = f"trial {ran.trial} of {ran.task!r}"
    if not ran.events:
        raise InputError.of(f"{which} has no log: {ran.error or 'it was never started'}", hint="fork another trial")
    lines = list(store.log(ran))
    if compute_head(lines) != ran.head:
        raise InputError.of(f"the log of {which} is damaged: it is not the one that was graded")
    events = parse_log(lines, catalog.events, store.blob)
    place, beside = _find_first_conversation(events, which), orjson.loads(store.sidecar(ran))
    handed = beside.get("handed") or find_handed_messages(events, place)
    if not 1 <= turn <= len(handed):
        turns = len(handed)
        hint = f"--at-turn must be from 1 to {turns}" if turns else ""
        raise InputError.of(f"{which} has no turn {turn}; it has {turns} turn{'s' * (turns != 1)}", hint=hint)
    end = handed[turn - 1]
    sandboxes = beside.get("handed_from") or [place] * len(handed)
    touches = [(touch["seq"], touch["sandbox"], touch["operation"]) for touch in beside.get("touches", ())]
    before = SavedLog(
        events[:end], lines[:end], {digest: store.blob(digest) for digest in _list_blob_digests(lines[:end])}
    )
    head = compute_head(before.lines)
    fork = ForkOrigin(run=ran.run, task=ran.task, trial=ran.trial, turn=turn, head=head, warm_up=warm_up)
    messages = [HandedMessage(events, sandbox) for events, sandbox in zip(handed[:turn], sandboxes, strict=False)]
    return ForkPoint(before, fork, messages, [touch for touch in touches if touch[0] <= end])


def _find_first_conversation(events: Sequence[Event], which: str) -> str:
    """Return the conversation of the person who starts: people are added before anything else happens."""
    entries = [event.payload.entry for event in events if isinstance(event.payload, AgentStarted)]
    if "on_task" in entries:
        raise InputError.of(
            f"{which} is not a conversation: its agent worked on a task item", hint="repeat it with `rerun`"
        )
    if not entries or not any(isinstance(event.payload, RunStarted) for event in events):
        raise InputError.of(f"{which} ended before its conversation started; it has 0 turns")
    return next(find_conversations(event)[0] for event in events if event.actor == "person")


def _list_blob_digests(lines: Iterable[bytes]) -> set[str]:
    """Return the hashes of the blobs that some lines of a log refer to."""
    records = [orjson.loads(line) for line in lines if b'"blobs":' in line]
    return {blob["sha256"] for record in records for blob in record.get("blobs", {}).values()}
