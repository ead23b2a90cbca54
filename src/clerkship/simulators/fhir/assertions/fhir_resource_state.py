"""`fhir_resource_state`: resources in the final chart have the expected fields."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.assertions.field_rows import MAX_NAMES, Rows, compare_count, describe_fields, prefix_paths, share_passed
from clerkship.assertions.occurrence import CountExpectation, allows_zero, join_first
from clerkship.events.evidence import Evidence
from clerkship.formats.fhir.names import ResourceTypeName
from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.formats.fhir.search import parse_query
from clerkship.model.frozen import Flag
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import describe_expected
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.fhir.assertions.field import FhirField
from clerkship.simulators.fhir.assertions.search_field import (
    SearchField,
    find_expectation_mistakes,
    find_path_mistakes,
    find_search_mistakes,
    to_query_pairs,
)
from clerkship.simulators.fhir.assertions.subject import CriterionSubject, explain_no_reference, find_subject
from clerkship.simulators.fhir.state import FhirState

MAX_ROWS = 100
"""The most rows of evidence; those that failed come first."""


class FhirResourceState(Assertion):
    """The resources that a search finds at the end have these fields: the first of them, any, or all. Or, with `count`
    or `none`, the number of such resources is as expected. `input_entity_id` limits the search to that record and
    resources that refer to it.
    """

    name: ClassVar[str] = "fhir_resource_state"
    simulator: ClassVar[str | None] = "fhir"
    scoped: ClassVar[bool] = True
    resource_type: ResourceTypeName
    search: SearchField = {}
    fields: Annotated[
        tuple[FhirField, ...], Field(description="paths in the resource, and the values expected there")
    ] = ()
    which: Annotated[
        Literal["first", "any", "all"],
        Field(
            description="which of the resources found must have the fields; with `first`, set the order with `_sort`"
        ),
    ] = "first"
    count: Annotated[
        CountExpectation | None, Field(description="how many resources with all the fields must be found")
    ] = None
    none: Annotated[Flag, Field(description="whether no resource with all the fields may be found")] = False
    sandbox: Annotated[str | None, Field(description="name of the FHIR sandbox; not needed if there is only one")] = (
        None
    )

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        paths: list[tuple[FieldPath, str]] = [
            (("fields", n, "path"), field.path) for n, field in enumerate(self.fields)
        ]
        expectations: list[tuple[FieldPath, str, Any]] = [
            (("fields", n, "expected"), field.path, field.expected) for n, field in enumerate(self.fields)
        ]
        mistakes = [
            *find_search_mistakes(self.resource_type, self.search),
            *find_path_mistakes(self.resource_type, paths),
        ]
        mistakes += find_expectation_mistakes(self.resource_type, expectations)
        if mistakes:
            raise build_located_error(mistakes)
        counted = [key for key in ("count", "none", "which") if key in self.model_fields_set]
        if len(counted) > 1:
            raise ValueError(f"`{counted[0]}` and `{counted[1]}` cannot be combined")
        return self

    def explain_unscoped(self, record_type: str | None = None) -> str:
        """Return that no resource of the type can be about a record, if that is so."""
        return explain_no_reference(self.resource_type, record_type)

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return self.none or allows_zero(self.count)

    def check(self, evidence: Evidence) -> Check:
        """Search the final chart and compare the fields."""
        subject = find_subject(evidence)
        resources = self._find_resources(evidence.state(FhirState, self.sandbox), subject)
        rows_by_key = {get_key(resource): self._compare(resource, evidence.now) for resource in resources}
        if self.none or self.count is not None:
            return self._check_count(rows_by_key, subject)
        if not rows_by_key:
            return self._report_missing(evidence.state(FhirState, self.sandbox), subject)
        return self._check_all(rows_by_key, subject) if self.which == "all" else self._check_one(rows_by_key, subject)

    def _report_missing(self, state: FhirState, subject: CriterionSubject | None) -> Check:
        row = FieldCheck(path=self.resource_type, expected={"gte": 1}, actual=0, passed=False)
        detail = "; ".join([f"there is no {self._describe_search(subject)}", *self._explain_missing(state, subject)])
        return Check.of(False, detail, row)

    def _explain_missing(self, state: FhirState, subject: CriterionSubject | None) -> Iterator[str]:
        """Yield each search parameter without which the search would find something."""
        for name in self.search if len(self.search) > 1 or subject is not None else ():
            others = {other: value for other, value in self.search.items() if other != name}
            keys = [get_key(resource) for resource in self._find_resources(state, subject, others)]
            if keys:
                query = "&".join(f"{key}={value}" for key, value in to_query_pairs({name: self.search[name]}))
                yield f"without {query} there would be {join_first(keys, most=MAX_NAMES)}"

    def _find_resources(
        self, state: FhirState, subject: CriterionSubject | None, search: SearchField | None = None
    ) -> Sequence[Resource]:
        pairs = to_query_pairs(self.search if search is None else search)
        resources = state.find(self.resource_type, pairs)
        if subject is not None:
            keys = subject.keys(state, self.resource_type)
            resources = [resource for resource in resources if get_key(resource) in keys]
        return resources[: parse_query(self.resource_type, pairs).count]  # `_sort: -date, _count: 1` is the latest

    def _compare(self, resource: Resource, now: datetime | None) -> Rows:
        return tuple(field.compare(resource, now) for field in self.fields)

    def _describe_search(self, subject: CriterionSubject | None) -> str:
        query = "&".join(f"{name}={value}" for name, value in to_query_pairs(self.search))
        return self.resource_type + (f" with {query}" if query else "") + (f" about {subject}" if subject else "")

    def _check_count(self, rows_by_key: dict[str, Rows], subject: CriterionSubject | None) -> Check:
        expected: Any = 0 if self.none else self.count
        matching = [key for key, rows in rows_by_key.items() if _all_passed(rows)]
        row = compare_count(expected, len(matching))
        detail = f"{self._describe_search(subject)}{describe_fields(self.fields)}: "
        detail += f"{join_first(matching, most=MAX_NAMES) or 'none'} (expected {describe_expected(expected)})"
        if row.passed or not self.fields or self.none:
            return Check.of(row.passed, detail, row)
        failed_rows = [
            check for key, rows in rows_by_key.items() if not _all_passed(rows) for check in prefix_paths(key, rows)
        ]
        return Check.of(False, detail, row, *failed_rows[:MAX_ROWS])

    def _check_one(self, rows_by_key: dict[str, Rows], subject: CriterionSubject | None) -> Check:
        keys = list(rows_by_key)
        key = keys[0] if self.which == "first" else max(keys, key=lambda key: share_passed(rows_by_key[key]))
        number = f" (of {len(keys)} {self._describe_search(subject)})" if len(keys) > 1 else ""
        return Check.of_fields(rows_by_key[key], f"{_describe_resource(key, rows_by_key[key])}{number}")

    def _check_all(self, rows_by_key: dict[str, Rows], subject: CriterionSubject | None) -> Check:
        failed = [key for key, rows in rows_by_key.items() if not _all_passed(rows)]
        rows = tuple(row for key, checks in rows_by_key.items() for row in prefix_paths(key, checks))
        number = (
            f"{len(rows_by_key) - len(failed)} of {len(rows_by_key)} {self._describe_search(subject)} are as expected"
        )
        detail = number if not failed else f"{number}; not {join_first(failed, most=MAX_NAMES)}"
        shown = tuple(sorted(rows, key=lambda row: row.passed))[:MAX_ROWS]
        return Check(passed=not failed, score=share_passed(rows), detail=detail, evidence=shown)


def _all_passed(rows: Rows) -> bool:
    return all(row.passed for row in rows)


def _describe_resource(key: str, rows: Rows) -> str:
    if not rows:
        return f"{key} is there"
    failed = [row.path for row in rows if not row.passed]
    return f"{key} is as expected" if not failed else f"{key} is there, but not as expected: {', '.join(failed)}"
