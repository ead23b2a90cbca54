"""`table_no_other_changes`: the records at the end differ from those at the start only as the task wants."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.assertions.occurrence import CountExpectation, allows_zero, join_first
from clerkship.assertions.selection import MAX_ROWS
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.path import MISSING, lookup
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.tables.assertions.reference_calls import (
    RecordDifference,
    ReferenceCall,
    compute_expected,
    find_differences,
    list_changed,
    list_made_ids,
    rename_ids,
)
from clerkship.simulators.tables.config import TABLE
from clerkship.simulators.tables.state import TablesState


class TableChange(Frozen):
    """A change of records that is expected or allowed."""

    table: Annotated[str, TABLE, Field(description="which table")]
    id: Annotated[str | None, Field(description="the id of the record; any if not given")] = None
    change: Annotated[Literal["created", "updated", "deleted"] | None, Field(description="what happened to it")] = None
    where: Annotated[
        dict[str, Expected], Field(description="values of the record by path: after the change, or before a deletion")
    ] = {}
    fields: Annotated[
        tuple[str, ...], Field(description="fields of an updated record that may differ; any if not given")
    ] = ()
    count: Annotated[CountExpectation | None, Field(description="how many records; in `must` at least one")] = None

    def matches(self, difference: RecordDifference) -> bool:
        """Return whether a change is of the kind that is described."""
        before, after = difference.expected, difference.actual
        change = "created" if before is MISSING else "deleted" if after is MISSING else "updated"
        if difference.table != self.table or self.id not in (None, difference.id) or self.change not in (None, change):
            return False
        record = before if after is MISSING else after
        if not all(matches_expected(expected, lookup(record, path)) for path, expected in self.where.items()):
            return False
        return change != "updated" or not self.fields or {*_list_fields(difference)} <= {*self.fields}

    def __str__(self) -> str:
        return " ".join(filter(None, (self.table, self.id, self.change)))


class IgnoredField(Frozen):
    """A field that is not compared with that of the reference calls."""

    table: Annotated[str, TABLE, Field(description="which table")]
    field: Annotated[str, Field(min_length=1, description="a field of its records, such as a time")]


class TableNoOtherChanges(Assertion):
    """The records that differ at the end are those listed: all in `must`, any in `may`, and no others; or, with
    `calls`, the records are those that the reference calls lead to. Changes by steps do not count. A change that is
    reverted does not count either.
    """

    name: ClassVar[str] = "table_no_other_changes"
    unscoped_reason: ClassVar[str] = "it looks for harm to any other record"
    simulator: ClassVar[str | None] = "tables"
    must: Annotated[tuple[TableChange, ...], Field(description="changes that must happen")] = ()
    may: Annotated[tuple[TableChange, ...], Field(description="changes that may happen")] = ()
    calls: Annotated[
        tuple[ReferenceCall, ...] | None,
        Field(description="reference calls: instead of `must` and `may`, the records must be as after them"),
    ] = None
    ignore: Annotated[
        tuple[IgnoredField, ...], Field(description="with `calls`: fields that are not compared, such as times")
    ] = ()
    sandbox: Annotated[str | None, Field(description="which tables; the only ones if not given")] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.calls is not None and (self.must or self.may):
            raise ValueError("`calls` do not go with `must` and `may`")
        if self.calls is None and self.ignore:
            raise ValueError("`ignore` goes with `calls`")
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return not self.calls and all(allows_zero(item.count) for item in self.must)

    def check(self, evidence: Evidence) -> Check:
        """Compare the records with those of the start, or with those after the reference calls."""
        state = evidence.state(TablesState, self.sandbox)
        reference, made = compute_expected(evidence, state, self.calls or ())
        if self.calls is not None:
            return self._check_calls(evidence, state, reference, made)
        differences = [
            RecordDifference(*key.partition("/")[::2], *(each.records.get(key, MISSING) for each in (reference, state)))
            for key in list_changed(reference, state)
        ]
        counts = list(self._check_counts(differences))
        others = [each for each in differences if not any(item.matches(each) for item in (*self.must, *self.may))]
        rows = [row for each in others for row in _build_rows(each)]
        missed = [row for row in counts if not row.passed]
        failures = [f"{row.path}: {row.actual} (expected {describe_expected(row.expected)})" for row in missed]
        if others:
            failures.append(f"not allowed: {_list_keys(others)}")
        detail = f"changed: {_list_keys(differences) or 'no record'}"
        detail += f"; {'; '.join(failures)}" if failures else ", as listed"
        return Check.of(not failures, detail, *islice((*counts, *rows), MAX_ROWS))

    def _check_counts(self, differences: Sequence[RecordDifference]) -> Iterator[FieldCheck]:
        for requirement, items in (("must", self.must), ("may", self.may)):
            for item in items:
                expected: Any = item.count if item.count is not None else {"gte": 1} if requirement == "must" else None
                if expected is None:
                    continue
                number = sum(item.matches(each) for each in differences)
                passed = matches_expected(expected, number)
                yield FieldCheck(path=f"{requirement}: {item}", expected=expected, actual=number, passed=passed)

    def _check_calls(self, evidence: Evidence, state: TablesState, reference: TablesState, made: list[str]) -> Check:
        start = compute_expected(evidence, state, ())[0]
        keys = {*list_changed(start, state), *list_changed(start, reference)}
        expected, actual = (
            rename_ids({key: each.records[key] for key in sorted(keys) if key in each.records}, ids)
            for each, ids in ((reference, made), (state, list_made_ids(evidence, state)))
        )
        differences = find_differences(actual, expected, [(each.table, each.field) for each in self.ignore])
        rows = [row for each in differences for row in _build_rows(each)]
        if not rows:
            row = FieldCheck(path="changed records", expected=len(keys), actual=len(keys), passed=True)
            return Check.of(True, "the records are as after the reference calls", row)
        detail = f"not as after the reference calls: {_list_keys(differences)}"
        return Check.of(False, detail, *islice(rows, MAX_ROWS))


def _list_keys(differences: Sequence[RecordDifference]) -> str:
    return join_first([f"{each.table}/{each.id}" for each in differences], most=MAX_NAMES)


def _list_fields(difference: RecordDifference) -> list[str]:
    """Return the fields that differ between two versions of a record."""
    one, other = difference.expected, difference.actual
    return [name for name in {**one, **other} if one.get(name, MISSING) != other.get(name, MISSING)]


def _build_rows(difference: RecordDifference) -> Iterator[FieldCheck]:
    """Yield a row for each field that differs, or one for a record that exists on one side only."""
    key, one, other = f"{difference.table}/{difference.id}", difference.expected, difference.actual
    if one is MISSING or other is MISSING:
        yield field_check(key, _to_value(one), other, passed=False)
        return
    for name in _list_fields(difference):
        expected, actual = one.get(name, MISSING), other.get(name, MISSING)
        yield field_check(f"{key}: {name}", _to_value(expected), actual, passed=False)


def _to_value(value: Any) -> Any:
    return repr(MISSING) if value is MISSING else value
