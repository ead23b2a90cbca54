"""`fhir_no_other_changes`: the agent made the required changes to the chart, and no change that is not allowed."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.assertions.occurrence import allows_zero, join_first
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check, to_evidence_value
from clerkship.formats.fhir import exact
from clerkship.formats.fhir.chart import ChartView
from clerkship.model.frozen import Flag
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.fhir.assertions.agent_changes import (
    ResourceChange,
    changes_after_each_write,
    find_agent_changes,
)
from clerkship.simulators.fhir.assertions.listed_change import ListedChange
from clerkship.simulators.fhir.assertions.objections import ChangeChecker, Objection
from clerkship.simulators.fhir.assertions.shown_resources import find_sandbox_name
from clerkship.simulators.fhir.inputs import FhirSandboxName
from clerkship.simulators.fhir.state import FhirState

MAX_ROWS = 100


class FhirNoOtherChanges(Assertion):
    """The agent's changes that remain at the end are those listed: all in `must`, any in `may`, none in `must_not`, and
    no others. Changes by steps and reactions do not count, nor does reading. A change that is reverted does not
    count, unless `ever` is true.
    """

    name: ClassVar[str] = "fhir_no_other_changes"
    unscoped_reason: ClassVar[str] = "it looks for harm to any other record"
    simulator: ClassVar[str | None] = "fhir"
    must: Annotated[
        tuple[ListedChange, ...], Field(description="changes that must happen, at least once or `count` times")
    ] = ()
    may: Annotated[tuple[ListedChange, ...], Field(description="changes that may happen; `count` times if given")] = ()
    must_not: Annotated[
        tuple[ListedChange, ...], Field(description="changes that must not happen, even if another item allows them")
    ] = ()
    ever: Annotated[
        Flag,
        Field(
            description="check the chart after each write of the agent, so that reverted changes count too; earlier "
            "versions of a resource that the agent created, of a listed type and for a listed patient, do not"
        ),
    ] = False
    sandbox: FhirSandboxName = None

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        mistakes: list[tuple[FieldPath, str]] = []
        for number, item in enumerate(self.must_not):
            if item.count is not None:
                mistakes.append((("must_not", number, "count"), "`count` is not allowed in `must_not`"))
            if item.elements:
                mistakes.append(
                    (
                        ("must_not", number, "elements"),
                        "`elements` is not allowed in `must_not`; use `fields` or `where`",
                    )
                )
        if mistakes:
            raise build_located_error(mistakes)
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        required = (*self.must, *(item for item in self.may if item.count is not None))
        return all(allows_zero(item.count) for item in required)

    def check(self, evidence: Evidence) -> Check:
        """Compare the agent's final changes with the listed ones; with `ever`, also those it had made at any time."""
        state = evidence.state(FhirState, self.sandbox)
        name, checker = find_sandbox_name(evidence, state), ChangeChecker(state, evidence)
        changes = find_agent_changes(state.chart, evidence, name)
        counts = list(self._check_counts(changes, state))
        violations = {change.key: list(self._find_violations(change, state, checker)) for change in changes}
        others = [row for rows in violations.values() for row in rows]
        if self.ever:
            final = {(change.key, change.seq) for change in changes}
            all_changes = changes_after_each_write(state.chart, evidence, name)
            earlier = (
                item for item in all_changes if (item.key, item.seq) not in final and not violations.get(item.key)
            )
            others += self._find_undone_violations(earlier, state, checker)
        allowed = (row for change in changes if not violations[change.key] for row in _build_allowed_rows(change))
        passed = not others and all(row.passed for row in counts)
        return Check.of(
            passed, _describe_result(counts, others, changes), *islice((*counts, *others, *allowed), MAX_ROWS)
        )

    def _check_counts(self, changes: Sequence[ResourceChange], view: ChartView) -> Iterator[FieldCheck]:
        for requirement, items in (("must", self.must), ("may", self.may), ("must not", self.must_not)):
            for item in items:
                expected: Any = 0 if requirement == "must not" else item.count
                if expected is None and requirement == "may":
                    continue
                expected = expected if expected is not None else {"gte": 1}
                number = sum(item.matches(change, view) for change in changes)
                yield FieldCheck(
                    path=f"{requirement}: {item}",
                    expected=expected,
                    actual=number,
                    passed=matches_expected(expected, number),
                )

    def _find_violations(self, change: ResourceChange, view: ChartView, checker: ChangeChecker) -> Iterator[FieldCheck]:
        """Yield the parts of a change that no item allows, or that an item forbids."""
        listed = [item for item in (*self.must, *self.may) if item.matches(change, view)]
        return self._compare_with_listed(change, listed, view, checker)

    def _compare_with_listed(
        self, change: ResourceChange, listed: Sequence[ListedChange], view: ChartView, checker: ChangeChecker
    ) -> Iterator[FieldCheck]:
        forbidden = [item for item in self.must_not if item.matches(change, view)]
        if change.change_type != "updated" and (forbidden or not listed):
            before, after = (MISSING, change.after) if change.change_type == "created" else (change.before, MISSING)
            yield _build_row(change, "", before, after, passed=False)
            return
        objections = [checker.find_objections(change, item) for item in listed]
        if change.change_type != "updated":
            yield from (_build_objection_row(change, by_path) for by_path in min(objections, key=len).values())
            return
        for path, pair in change.paths.items():
            if any(item.covers_path(path) for item in forbidden) or not listed:
                yield _build_row(change, path, *pair, passed=False)
            elif all(path in by_path for by_path in objections):
                # Prefer an objection with a reason to one that only shows the values before and after.
                reasons = (by_path[path] for by_path in objections)
                yield _build_objection_row(change, min(reasons, key=lambda objection: objection[1:] == pair))

    def _find_undone_violations(
        self, changes: Iterator[ResourceChange], view: ChartView, checker: ChangeChecker
    ) -> Iterator[FieldCheck]:
        """Yield the violations in earlier writes of the agent."""
        for change in changes:
            if change.change_type == "created":
                forbidden = any(item.matches(change, view) for item in self.must_not)
                is_draft = self._is_permitted_draft(change, checker) and not forbidden
                rows = iter(() if is_draft else (_build_row(change, "", MISSING, change.after, passed=False),))
            elif change.change_type == "deleted":
                rows = self._find_violations(change, view, checker)
            else:
                listed = [item for item in (*self.must, *self.may) if item.matches_target(change)]
                rows = self._compare_with_listed(change, listed, view, checker)
            yield from (row.model_copy(update={"path": f"temporarily: {row.path}"}) for row in rows)

    def _is_permitted_draft(self, change: ResourceChange, checker: ChangeChecker) -> bool:
        """Return whether an item lists changes to resources of this type for this patient.

        If so, earlier versions of a resource that the agent created are no violations: the agent may correct its own
        work.
        """
        for item in (*self.must, *self.may):
            if item.change != "deleted" and item.type_name in (None, change.type):
                patients, concerned = checker.find_named_patients(item), checker.find_affected_patients(change)
                if not patients or (concerned and concerned <= patients):
                    return True
        return False


def _build_row(change: ResourceChange, path: str, before: Any, after: Any, *, passed: bool) -> FieldCheck:
    where = f"{change.key}: {path}" if path else change.key
    was, now = (exact.to_plain(value) for value in (before, after))
    row = field_check(where, was, now, passed=passed, seq=change.seq)
    return row.model_copy(update={"expected": to_evidence_value(was)})


def _build_objection_row(change: ResourceChange, objection: Objection) -> FieldCheck:
    return _build_row(change, objection.path, objection.expected, objection.actual, passed=False)


def _build_allowed_rows(change: ResourceChange) -> Iterator[FieldCheck]:
    """Yield rows for an allowed change.

    For an update, they show the values before and after; otherwise, that the resource was created or deleted.
    """
    if change.change_type == "updated":
        yield from (_build_row(change, path, *pair, passed=True) for path, pair in change.paths.items())
    else:
        text = f"{change.change_type}, as listed"
        yield FieldCheck(path=change.key, expected=text, actual=text, passed=True, seq=change.seq)


def _describe_result(
    counts: Sequence[FieldCheck], others: Sequence[FieldCheck], changes: Sequence[ResourceChange]
) -> str:
    missed = [row for row in counts if not row.passed]
    failures = [f"{row.path}: {row.actual} (expected {describe_expected(row.expected)})" for row in missed]
    places = list(dict.fromkeys(row.path for row in others))
    if places:
        failures.append(f"not allowed: {join_first(places, most=MAX_NAMES)}")
    listed = join_first(changes, lambda change: f"{change.key} {change.change_type}", MAX_NAMES)
    done = f"the agent left these changes: {listed}" if listed else "the agent left no change"
    return done + (f"; {'; '.join(failures)}" if failures else ", as listed")
