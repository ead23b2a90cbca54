"""The records that reference calls lead to, and the comparison with those at the end of a trial."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import orjson
from pydantic import Field, JsonValue

from clerkship.events.event import Event, Payload, freeze_payload
from clerkship.events.evidence import Evidence
from clerkship.kit.rng import Ids, Rng
from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag, Frozen
from clerkship.model.path import MISSING
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.tables.config import FUNCTION
from clerkship.simulators.tables.events import FunctionCalled, RecordChanged
from clerkship.simulators.tables.state import TablesState
from clerkship.simulators.tables.table_set import build_key

REFERENCE = "reference"
OF_THE_TRIAL = ("agent", "person")
"""Whose changes are what a trial is about: what the agent did, and what it had people do with their tools."""


class ReferenceCall(Frozen):
    """A call that leads to the expected state."""

    name: Annotated[str, FUNCTION, Field(description="which function")]
    arguments: Annotated[dict[str, JsonValue], Field(description="its arguments, by name")] = {}
    may_refuse: Annotated[Flag, Field(description="whether it may be refused, and then changes nothing")] = False


class RecordDifference(NamedTuple):
    """A record that is not as expected; MISSING where there is none."""

    table: str
    id: str
    expected: Any
    actual: Any


def find_source(evidence: Evidence, state: TablesState) -> str:
    """Return the name of the sandbox that has a state."""
    return next(name for name, each in evidence.states.items() if each is state)


def compute_expected(
    evidence: Evidence, state: TablesState, calls: Iterable[ReferenceCall]
) -> tuple[TablesState, list[str]]:
    """Return the state after what the scenario did and these calls, and the ids that were made for them.

    Raises InputError for a call that is refused: it is a mistake of the author.
    """
    reference, source, ids = state.start_again(), find_source(evidence, state), list[str]()
    for event in evidence.events:
        if event.source == source and event.actor not in OF_THE_TRIAL and isinstance(event.payload, RecordChanged):
            reference.apply(event)
    action = build_reference_action(reference, evidence.events[0].at if evidence.events else None, source, ids)
    for call in calls:
        _call(reference, action, call)
    return reference, ids


def build_reference_action(
    state: TablesState, now: datetime | None, source: str = REFERENCE, ids: list[str] | None = None
) -> ActionContext:
    """Return a context for calls over a copy of a state, outside of the trial. `ids` gets the ids that they make."""
    at = now if now is not None else datetime.min

    def emit(payload: Payload) -> Event:
        event = Event(0, at, source, payload.kind, REFERENCE, None, freeze_payload(payload))
        state.apply(event)
        if ids is not None and isinstance(payload, FunctionCalled):
            ids.extend(payload.ids)
        return event

    return ActionContext(REFERENCE, at, Ids(REFERENCE), Rng(REFERENCE), emit)


def _call(state: TablesState, action: ActionContext, call: ReferenceCall) -> None:
    try:
        state.call_checked(action, call.name, call.arguments)
    except Refusal as refusal:
        if not call.may_refuse:
            hint = "correct the call, or set `may_refuse`"
            raise InputError.of(
                f"the reference call of `{call.name}` was refused: {refusal.reason}", hint=hint
            ) from None


def list_made_ids(evidence: Evidence, state: TablesState) -> list[str]:
    """Return the ids that were made for calls in a trial."""
    source = find_source(evidence, state)
    called = (event.payload for event in evidence.of_kind(FunctionCalled.kind) if event.source == source)
    return [id for payload in called if isinstance(payload, FunctionCalled) for id in payload.ids]


def find_differences(
    actual: Mapping[str, Any], expected: Mapping[str, Any], ignore: Sequence[tuple[str, str]]
) -> list[RecordDifference]:
    """Return the records that differ. `ignore` has fields that are not compared, each with its table or `*`."""
    differences = []
    for key in sorted({*actual, *expected}):
        table, _, id = key.partition("/")
        skipped = {field for name, field in ignore if name in ("*", table)}
        pair = [_without(records.get(key, MISSING), skipped) for records in (expected, actual)]
        if pair[0] != pair[1]:
            differences.append(RecordDifference(table, id, *pair))
    return differences


def _without(record: Any, fields: Iterable[str]) -> Any:
    names = set(fields)
    return record if record is MISSING else {name: value for name, value in record.items() if name not in names}


def list_changed(state: TablesState, other: TablesState) -> list[str]:
    """Return the keys of the records that differ between two states."""
    keys = [
        build_key(table, id)
        for table in state.tables.names
        for id in dict.fromkeys((*state.ids(table), *other.ids(table)))
    ]
    return [key for key in keys if state.records.get(key, MISSING) != other.records.get(key, MISSING)]


def rename_ids(records: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """Return the records with each made id replaced by a number.

    Ids are numbered by the content of the records that have them, so that the order of calls does not matter.
    """
    if not ids:
        return dict(records)
    pattern = re.compile("|".join(map(re.escape, sorted(set(ids), key=len, reverse=True))))
    texts = {key: orjson.dumps([key, record]).decode() for key, record in records.items()}
    numbers: dict[str, str] = {}
    for text in sorted(texts.values(), key=lambda text: pattern.sub("", text)):
        for id in pattern.findall(text):
            numbers.setdefault(id, f"{id.rpartition('_')[0]}#{len(numbers) + 1}")
    pairs = [orjson.loads(pattern.sub(lambda match: numbers[match[0]], text)) for text in texts.values()]
    return dict(pairs)
