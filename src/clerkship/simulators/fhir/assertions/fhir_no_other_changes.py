"""`fhir_no_other_changes`: the agent changed what it had to, and nothing that it may not."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from clerkship.assertions.contract import Assertion, Check
from clerkship.assertions.occurrence import HowMany
from clerkship.events.evidence import Evidence
from clerkship.events.query import shown
from clerkship.fhir import exact
from clerkship.fhir.chart import View
from clerkship.fhir.definitions import RESOURCE_TYPES
from clerkship.fhir.expectation import all_fit
from clerkship.fhir.fhirpath import PathText, plain_steps
from clerkship.fhir.search import matches
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import describe, holds
from clerkship.model.misplaced import Place, misplaced
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.simulators.fhir.assertions.footprint import Change, footprint
from clerkship.simulators.fhir.assertions.leaves import covers
from clerkship.simulators.fhir.assertions.looks import name_of
from clerkship.simulators.fhir.assertions.query import (
    Search,
    TypeName,
    expected_mistakes,
    pairs,
    path_mistakes,
    search_mistakes,
    shaping_mistakes,
)
from clerkship.simulators.fhir.state import FhirState

MOST_ROWS = 100


def _plain_path(path: str) -> str:
    if plain_steps(path) is None:
        raise ValueError(f"`{path}` is no plain path: what may differ is named by its place, such as name.given")
    return path


class ListedChange(Frozen):
    """A change by what was done, to which resource, and where in it."""

    change: Literal["created", "updated", "deleted", "any"] = "any"
    type: Annotated[TypeName | None, Field(description="of which type; of any if not given")] = None
    id: Annotated[str | None, Field(description="of which id; `Patient/42` says the type too")] = None
    search: Search = {}
    where: Annotated[
        dict[PathText, Expected],
        Field(description="path -> literal or matcher, on the resource as it is; as it was, if it was deleted"),
    ] = {}
    fields: Annotated[
        tuple[Annotated[str, AfterValidator(_plain_path)], ...],
        Field(description="of an update, the paths that are meant, with all below them; any if not given"),
    ] = ()
    count: Annotated[HowMany | None, Field(description="how many such changes")] = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.search and self.type is None:
            raise ValueError("`search` needs a `type`: its parameters are those of a type")
        type = self.type or (self.id or "").rpartition("/")[0]
        if type and type not in RESOURCE_TYPES:
            raise misplaced([(("id",), f"unknown resource type `{type}`")])
        paths: list[tuple[Place, str]] = [(("where", path), path) for path in self.where]
        paths += [(("fields", number), path) for number, path in enumerate(self.fields)]
        wanted: list[tuple[Place, str, Any]] = [(("where", path), path, said) for path, said in self.where.items()]
        found = [*path_mistakes(type or None, paths), *expected_mistakes(type or None, wanted)]
        found += [*(search_mistakes(type, self.search) if type else ()), *shaping_mistakes(self.search)]
        if self.type and self.id and self.id.rpartition("/")[0] not in ("", self.type):
            found.append((("id",), f"`{self.id}` is no {self.type}"))
        if found:
            raise misplaced(found)
        return self

    def admits(self, change: Change, view: View) -> bool:
        """Whether a change is one of those meant, at least in part."""
        return (
            self.change in ("any", change.sort)
            and self.type in (None, change.type)
            and self.id in (None, change.key, change.key.partition("/")[2])
            and all_fit(change.resource, self.where)
            and (not self.search or matches(view, change.type, pairs(self.search), change.resource))
            and (change.sort != "updated" or any(map(self.covers, change.paths)))
        )

    def covers(self, path: str) -> bool:
        """Whether a path that differs is one of those meant."""
        return not self.fields or any(covers(plain_steps(field) or (), path) for field in self.fields)

    def __str__(self) -> str:
        """In words."""
        words = ["changed" if self.change == "any" else self.change, self.type or ("resource" if not self.id else "")]
        words += [self.id] if self.id else []
        query = "&".join(f"{name}={value}" for name, value in pairs(self.search))
        words += [f"with {query}"] if query else []
        words += ["where " + ", ".join(f"{path} {describe(e)}" for path, e in self.where.items())] if self.where else []
        words += [f"at {', '.join(self.fields)}"] if self.fields else []
        return " ".join(filter(None, words))


class FhirNoOtherChanges(Assertion):
    """What differs from the dataset at the end, by the agent's doing, is what is listed: all that it must have changed,
    what it may, nothing that it must not, and nothing else. What steps and reactions changed is not the agent's; what
    was changed and changed back is no change; reading is none either."""

    name: ClassVar[str] = "fhir_no_other_changes"
    simulator: ClassVar[str | None] = "fhir"
    must: Annotated[tuple[ListedChange, ...], Field(description="each must have happened, once or `count` times")] = ()
    may: Annotated[tuple[ListedChange, ...], Field(description="each may have happened, `count` times if given")] = ()
    must_not: Annotated[
        tuple[ListedChange, ...], Field(description="none may have happened, whatever else allows it")
    ] = ()
    sandbox: Annotated[str | None, Field(description="which chart; the only one if not given")] = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        found = [number for number, item in enumerate(self.must_not) if item.count is not None]
        if found:
            raise misplaced((("must_not", number, "count"), "what must not happen is not counted") for number in found)
        return self

    def check(self, evidence: Evidence) -> Check:
        """Compare what the agent left behind with what is listed."""
        state = evidence.state(FhirState, self.sandbox)
        name = name_of(evidence, state)
        changes = footprint(state.chart, evidence, name)
        counts = list(self._counts(changes, state))
        unlisted = [list(self._unlisted(change, state)) for change in changes]
        others = [row for rows in unlisted for row in rows]
        allowed = (row for change, rows in zip(changes, unlisted, strict=True) if not rows for row in _told(change))
        passed = not others and all(row.passed for row in counts)
        return Check.of(passed, _detail(counts, others, changes), *islice((*counts, *others, *allowed), MOST_ROWS))

    def _counts(self, changes: Sequence[Change], view: View) -> Iterator[FieldCheck]:
        for sort, items in (("must", self.must), ("may", self.may), ("must not", self.must_not)):
            for item in items:
                expected: Any = 0 if sort == "must not" else item.count
                if expected is None and sort == "may":
                    continue
                expected = expected if expected is not None else {"gte": 1}
                number = sum(item.admits(change, view) for change in changes)
                yield FieldCheck(
                    path=f"{sort}: {item}", expected=expected, actual=number, passed=holds(expected, number)
                )

    def _unlisted(self, change: Change, view: View) -> Iterator[FieldCheck]:
        """What of a change nothing allows, or something forbids."""
        listed = [item for item in (*self.must, *self.may) if item.admits(change, view)]
        forbidden = [item for item in self.must_not if item.admits(change, view)]
        if change.sort != "updated":
            if forbidden or not listed:
                before, after = (MISSING, change.after) if change.sort == "created" else (change.before, MISSING)
                yield _row(change, "", before, after, passed=False)
            return
        for path, (before, after) in change.paths.items():
            if not any(item.covers(path) for item in listed) or any(item.covers(path) for item in forbidden):
                yield _row(change, path, before, after, passed=False)


def _row(change: Change, path: str, before: Any, after: Any, *, passed: bool) -> FieldCheck:
    where = f"{change.key}: {path}" if path else change.key
    was, now = (shown(exact.plain(value)) for value in (before, after))
    return FieldCheck(path=where, expected=was, actual=now, passed=passed, seq=change.seq)


def _told(change: Change) -> Iterator[FieldCheck]:
    """A change that is in order: what was there, and what is; of a whole resource, that it is new or gone."""
    if change.sort == "updated":
        yield from (_row(change, path, *pair, passed=True) for path, pair in change.paths.items())
    else:
        said = f"{change.sort}, as listed"
        yield FieldCheck(path=change.key, expected=said, actual=said, passed=True, seq=change.seq)


def _detail(counts: Sequence[FieldCheck], others: Sequence[FieldCheck], changes: Sequence[Change]) -> str:
    missed = [row for row in counts if not row.passed]
    wrong = [f"{row.path}: {row.actual} (expected {describe(row.expected)})" for row in missed]
    places = list(dict.fromkeys(row.path for row in others))
    if places:
        more = f" and {len(places) - 10} more" if len(places) > 10 else ""
        wrong.append(f"not listed: {', '.join(places[:10])}{more}")
    done = ", ".join(f"{change.key} {change.sort}" for change in changes[:10]) or "nothing"
    more = f" and {len(changes) - 10} more" if len(changes) > 10 else ""
    return f"the agent left these changes: {done}{more}" + (f"; {'; '.join(wrong)}" if wrong else ", as listed")
