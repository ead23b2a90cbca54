"""`fhir_no_other_changes`: the agent changed what it had to, and nothing that it may not."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.assertions.contract import Assertion, Check
from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.assertions.occurrence import allows_zero, listed
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check, to_evidence_value
from clerkship.fhir import exact
from clerkship.fhir.chart import ChartView
from clerkship.model.frozen import Flag
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.simulators.fhir.assertions.footprint import Change, footprint, moments
from clerkship.simulators.fhir.assertions.listed import ListedChange
from clerkship.simulators.fhir.assertions.looks import name_of
from clerkship.simulators.fhir.assertions.objections import Judge, Objection
from clerkship.simulators.fhir.state import FhirState

MAX_ROWS = 100


class FhirNoOtherChanges(Assertion):
    """What differs from the dataset at the end, by the agent's doing, is what is listed: all that it must have changed,
    what it may, nothing that it must not, and nothing else. What steps and reactions changed is not the agent's; what
    was changed and changed back is no change, unless `ever` is true; reading is none either."""

    name: ClassVar[str] = "fhir_no_other_changes"
    simulator: ClassVar[str | None] = "fhir"
    must: Annotated[tuple[ListedChange, ...], Field(description="each must have happened, once or `count` times")] = ()
    may: Annotated[tuple[ListedChange, ...], Field(description="each may have happened, `count` times if given")] = ()
    must_not: Annotated[
        tuple[ListedChange, ...], Field(description="none may have happened, whatever else allows it")
    ] = ()
    ever: Annotated[
        Flag,
        Field(
            description="judge the chart after each write of the agent, so that harm which is undone counts; earlier "
            "versions of what the agent itself created, of a listed type and for the listed patient, do not"
        ),
    ] = False
    sandbox: Annotated[str | None, Field(description="which chart; the only one if not given")] = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        found: list[tuple[FieldPath, str]] = []
        for number, item in enumerate(self.must_not):
            if item.count is not None:
                found.append((("must_not", number, "count"), "what must not happen is not counted"))
            if item.elements:
                found.append((("must_not", number, "elements"), "name what must not be set by `fields` or `where`"))
        if found:
            raise build_located_error(found)
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        required = (*self.must, *(item for item in self.may if item.count is not None))
        return all(allows_zero(item.count) for item in required)

    def check(self, evidence: Evidence) -> Check:
        """Compare what the agent left behind with what is listed; with `ever`, what it had changed at any time."""
        state = evidence.state(FhirState, self.sandbox)
        name, judge = name_of(evidence, state), Judge(state, evidence)
        changes = footprint(state.chart, evidence, name)
        counts = list(self._counts(changes, state))
        wrong = {change.key: list(self._wrong(change, state, judge)) for change in changes}
        others = [row for rows in wrong.values() for row in rows]
        if self.ever:
            judged = {(change.key, change.seq) for change in changes}
            every = moments(state.chart, evidence, name)
            earlier = (one for one in every if (one.key, one.seq) not in judged and not wrong.get(one.key))
            others += self._undone(earlier, state, judge)
        allowed = (row for change in changes if not wrong[change.key] for row in _told(change))
        passed = not others and all(row.passed for row in counts)
        return Check.of(passed, _detail(counts, others, changes), *islice((*counts, *others, *allowed), MAX_ROWS))

    def _counts(self, changes: Sequence[Change], view: ChartView) -> Iterator[FieldCheck]:
        for sort, items in (("must", self.must), ("may", self.may), ("must not", self.must_not)):
            for item in items:
                expected: Any = 0 if sort == "must not" else item.count
                if expected is None and sort == "may":
                    continue
                expected = expected if expected is not None else {"gte": 1}
                number = sum(item.admits(change, view) for change in changes)
                yield FieldCheck(
                    path=f"{sort}: {item}", expected=expected, actual=number, passed=matches_expected(expected, number)
                )

    def _wrong(self, change: Change, view: ChartView, judge: Judge) -> Iterator[FieldCheck]:
        """Yield what of a change nothing allows, or something forbids."""
        listed = [item for item in (*self.must, *self.may) if item.admits(change, view)]
        return self._unlisted(change, listed, view, judge)

    def _unlisted(
        self, change: Change, listed: Sequence[ListedChange], view: ChartView, judge: Judge
    ) -> Iterator[FieldCheck]:
        forbidden = [item for item in self.must_not if item.admits(change, view)]
        if change.sort != "updated" and (forbidden or not listed):
            before, after = (MISSING, change.after) if change.sort == "created" else (change.before, MISSING)
            yield _row(change, "", before, after, passed=False)
            return
        objections = [judge.objections(change, item) for item in listed]
        if change.sort != "updated":
            yield from (_objected(change, found) for found in min(objections, key=len).values())
            return
        for path, pair in change.paths.items():
            if any(item.covers(path) for item in forbidden) or not listed:
                yield _row(change, path, *pair, passed=False)
            elif all(path in found for found in objections):
                yield _objected(change, min((found[path] for found in objections), key=lambda o: o[1:] == pair))

    def _undone(self, changes: Iterator[Change], view: ChartView, judge: Judge) -> Iterator[FieldCheck]:
        """Yield what of the agent's earlier writes was not allowed when it was done."""
        for change in changes:
            if change.sort == "created":
                forbidden = any(item.admits(change, view) for item in self.must_not)
                is_slip = self._is_slip(change, judge) and not forbidden
                rows = iter(() if is_slip else (_row(change, "", MISSING, change.after, passed=False),))
            elif change.sort == "deleted":
                rows = self._wrong(change, view, judge)
            else:
                listed = [item for item in (*self.must, *self.may) if item.means(change)]
                rows = self._unlisted(change, listed, view, judge)
            yield from (row.model_copy(update={"path": f"for a time: {row.path}"}) for row in rows)

    def _is_slip(self, change: Change, judge: Judge) -> bool:
        """Whether a version of what the agent created is of a type, and for a patient, that it may write to."""
        for item in (*self.must, *self.may):
            if item.change != "deleted" and item.kind in (None, change.type):
                patients, concerned = judge.patients_of(item), judge.patients_in(change)
                if not patients or (concerned and concerned <= patients):
                    return True
        return False


def _row(change: Change, path: str, before: Any, after: Any, *, passed: bool) -> FieldCheck:
    where = f"{change.key}: {path}" if path else change.key
    was, now = (exact.to_plain(value) for value in (before, after))
    row = field_check(where, was, now, passed=passed, seq=change.seq)
    return row.model_copy(update={"expected": to_evidence_value(was)})


def _objected(change: Change, found: Objection) -> FieldCheck:
    return _row(change, found.path, found.expected, found.actual, passed=False)


def _told(change: Change) -> Iterator[FieldCheck]:
    """A change that is in order: what was there, and what is; of a whole resource, that it is new or gone."""
    if change.sort == "updated":
        yield from (_row(change, path, *pair, passed=True) for path, pair in change.paths.items())
    else:
        said = f"{change.sort}, as listed"
        yield FieldCheck(path=change.key, expected=said, actual=said, passed=True, seq=change.seq)


def _detail(counts: Sequence[FieldCheck], others: Sequence[FieldCheck], changes: Sequence[Change]) -> str:
    missed = [row for row in counts if not row.passed]
    wrong = [f"{row.path}: {row.actual} (expected {describe_expected(row.expected)})" for row in missed]
    places = list(dict.fromkeys(row.path for row in others))
    if places:
        wrong.append(f"not allowed: {listed(places, most=MAX_NAMES)}")
    done = listed(changes, lambda change: f"{change.key} {change.sort}", MAX_NAMES) or "nothing"
    return f"the agent left these changes: {done}" + (f"; {'; '.join(wrong)}" if wrong else ", as listed")
