"""The rules of tables: a function changes copies of records, and each difference becomes an event."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Self

import orjson

from clerkship.events.event import Event
from clerkship.model.path import MISSING
from clerkship.sandbox.json_schema import find_violation
from clerkship.sandbox.person_tools import PersonTool
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.simulators.tables.config import TablesConfig
from clerkship.simulators.tables.events import FunctionCalled, PolicyRead, RecordChanged
from clerkship.simulators.tables.execution import FunctionFailed, TooManySteps, describe_failure, run_limited
from clerkship.simulators.tables.functions import TableFunction
from clerkship.simulators.tables.table_set import TableSet, build_key
from clerkship.simulators.tables.view import NoSuchRecord, Tables, TableSource, copy_json, to_json

MAX_REFUSAL = 1_000
"""Characters of the refusal of a function."""
Change = tuple[str, str, Any, Any]
"""A table, an id, and the record before and after; MISSING where there is none."""


class TablesState(State[TablesConfig]):
    """The tables of a sandbox. Its methods check a change and emit its events."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        base = getattr(self.records, "base", self.records)
        self._tables: TableSet = base if isinstance(base, TableSet) else TableSet()
        self._created: dict[str, dict[str, None]] = {}
        """Ids of created records by table, in order."""
        self._kept: dict[str, Any] = {}
        """What functions keep between calls; no part of the state, because it follows from the records.

        It is forgotten as soon as something else changes a record.
        """
        self._changes = 0
        """How many changes of records were applied."""

    @property
    def tables(self) -> TableSet:
        """The tables at the start, with the functions and the policy."""
        return self._tables

    def start_again(self) -> Self:
        """Return a new state with the records of the start, to try out calls."""
        state = type(self)(self.config, dict(self._tables))
        state._tables = self._tables
        return state

    def copy_records(self) -> Self:
        """Return a new state with the records as they are now, to try out calls."""
        state = self.start_again()
        state.records = dict(self.records)
        state._created = {table: dict(ids) for table, ids in self._created.items()}
        return state

    def ids(self, table: str) -> Iterator[str]:
        """Yield the ids of the records of a table: those of the start first, then the created ones."""
        yield from (id for id in self._tables.ids(table) if build_key(table, id) in self.records)
        yield from self._created.get(table, ())

    def read(self, table: str, id: str) -> Any:
        """Return a record, or MISSING."""
        return self.records.get(build_key(table, id), MISSING)

    def read_policy(self, action: ActionContext) -> str:
        policy = self._tables.policy
        if policy is None:
            raise Refusal(404, "no_policy", "there is no policy")
        action.emit(PolicyRead(size=len(policy.encode())))
        return policy

    def find_function(self, name: str) -> TableFunction:
        function = self._tables.functions.get(name)
        if function is None:
            known = ", ".join(self._tables.functions) or "none"
            raise Refusal(404, "no_such_function", f"there is no function `{name[:80]}` (functions: {known})")
        return function

    def call(self, action: ActionContext, name: str, arguments: Mapping[str, Any], room: int | None = None) -> bytes:
        """Call a function and return its result as JSON; its changes are logged, unless it refuses.

        `room` is the number of events that fit in the log. Raises Refusal, and FunctionFailed for a mistake of the
        author.
        """
        function = self.find_function(name)
        db, ids, mark = Tables(self._list_sources()), list[str](), action.ids.mark()
        kept, self._kept = self._kept, {}
        try:
            result, changes = self._run(function, {"db": db, "kept": kept, "now": action.now}, action, arguments, ids)
        except ValueError as error:
            action.ids.restore(mark)
            self._kept = kept
            reason = (str(error) or "the call was refused")[:MAX_REFUSAL]
            action.emit(FunctionCalled(name=name, arguments=dict(arguments), refusal=reason))
            missing = isinstance(error, NoSuchRecord)
            raise Refusal(*((404, "no_such_record") if missing else (409, "refused")), reason) from None
        if room is not None and len(changes) >= room:
            raise Refusal(429, "too_many_requests", "the log of this run has no room for what the call would change")
        seen = self._changes
        for change in changes:
            action.emit(_build_event(*change))
        action.emit(
            FunctionCalled(name=name, arguments=dict(arguments), size=len(result), changes=len(changes), ids=tuple(ids))
        )
        self._kept = kept if self._changes == seen + len(changes) else {}
        return result

    def call_checked(self, action: ActionContext, name: str, arguments: Mapping[str, Any]) -> bytes:
        """Call a function with arguments that do not come through a route, which would have checked them."""
        violation = find_violation(self.find_function(name).schema, dict(arguments))
        if violation is not None:
            raise Refusal(422, "invalid_input", f"{name}: {violation}")
        return self.call(action, name, arguments)

    def find_person_tool(self, name: str) -> PersonTool | None:
        """Return a function as a tool of people; None if there is none of that name."""
        function = self.tables.functions.get(name)
        return PersonTool(name, function.description, function.schema) if function is not None else None

    def use_person_tool(self, action: ActionContext, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a function for a person and return what they see: a text as it is, anything else as JSON."""
        result = self.call_checked(action, name, arguments)
        value = orjson.loads(result)
        return value if isinstance(value, str) else result.decode()

    def _run(
        self,
        function: TableFunction,
        given: Mapping[str, Any],
        action: ActionContext,
        arguments: Mapping[str, Any],
        ids: list[str],
    ) -> tuple[bytes, list[Change]]:
        """Run a function with what the sandbox gives it; return its result and the records that it changed.

        Raises ValueError if it refuses, and FunctionFailed if it fails otherwise.
        """

        def new_id(prefix: str) -> str:
            ids.append(action.ids.new(prefix))
            return ids[-1]

        filled = {name: value for name, value in (*given.items(), ("new_id", new_id)) if name in function.given}
        name, config, db = function.name, self.config, given["db"]
        try:
            returned = run_limited(function.run, {**copy_json(arguments), **filled}, config.max_steps)
        except TooManySteps:
            raise FunctionFailed(f"`{name}` took more than {config.max_steps:,} steps; does it ever end?") from None
        except ValueError:
            raise
        except Exception as error:
            raise FunctionFailed(describe_failure(name, error)) from error
        try:
            result = to_json(returned, "its result")
            changes = [(table, *change) for table, records in db.items() for change in records.list_changes()]
        except TypeError as error:
            raise FunctionFailed(f"`{name}`: {error}") from None
        if len(result) > config.max_result:
            raise FunctionFailed(f"`{name}` returned {len(result):,} bytes (limit: {config.max_result:,})")
        if len(changes) > config.max_changes:
            raise FunctionFailed(f"`{name}` changed {len(changes):,} records (limit: {config.max_changes:,})")
        return result, changes

    def _list_sources(self) -> Iterator[TableSource]:
        for name in self._tables.names:
            yield TableSource(name, partial(self.ids, name), partial(self.read, name))

    def put(self, action: ActionContext, table: str, id: str, record: Mapping[str, Any], *, merge: bool) -> None:
        """Create or replace a record; with `merge`, change only the given fields of one that exists."""
        self._check_table(table)
        before = self.read(table, id)
        if merge and before is MISSING:
            raise Refusal(404, "no_such_record", f"there is no record {id!r} in {table}")
        after = {**before, **record} if merge else dict(record)
        if before is MISSING or before != after:
            action.emit(_build_event(table, id, before, after))

    def delete(self, action: ActionContext, table: str, id: str) -> None:
        self._check_table(table)
        before = self.read(table, id)
        if before is MISSING:
            raise Refusal(404, "no_such_record", f"there is no record {id!r} in {table}")
        action.emit(_build_event(table, id, before, MISSING))

    def _check_table(self, table: str) -> None:
        if table not in self._tables.names:
            known = ", ".join(self._tables.names) or "none"
            raise Refusal(404, "no_such_table", f"there is no table `{table[:80]}` (tables: {known})")

    def apply(self, event: Event) -> None:
        payload = event.payload
        if not isinstance(payload, RecordChanged):
            return
        self._kept, self._changes = {}, self._changes + 1
        key = build_key(payload.table, payload.id)
        if payload.change == "deleted":
            self.records.pop(key, None)
            self._created.get(payload.table, {}).pop(payload.id, None)
            return
        before = self.records.get(key, {})
        kept = {name: value for name, value in before.items() if name not in payload.before or name in payload.after}
        if key not in self.records and key not in self._tables:
            self._created.setdefault(payload.table, {})[payload.id] = None
        self.records[key] = {**kept, **payload.after}


def _build_event(table: str, id: str, before: Any, after: Any) -> RecordChanged:
    """Return the event of a change, with the fields that differ."""
    old, new = ({} if record is MISSING else record for record in (before, after))
    names = [name for name in {**old, **new} if name not in old or name not in new or old[name] != new[name]]
    change = "created" if before is MISSING else "deleted" if after is MISSING else "updated"
    return RecordChanged(
        table=table,
        id=id,
        change=change,
        before={name: old[name] for name in names if name in old},
        after={name: new[name] for name in names if name in new},
    )
