"""`fhir_resource_state`: resources in the final chart have the expected fields."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.assertions.field_rows import MAX_NAMES, describe_fields, one_or_all, share_passed
from clerkship.assertions.occurrence import join_first
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.formats.fhir.fhirpath import TimedPathText, find_values, values_match
from clerkship.formats.fhir.names import ResourceTypeName
from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.formats.fhir.search import parse_query
from clerkship.model.frozen import Frozen
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Check
from clerkship.simulators.fhir.assertions.agent_changes import find_agent_changes
from clerkship.simulators.fhir.assertions.search_field import (
    SearchField,
    find_expectation_mistakes,
    find_path_mistakes,
    find_search_mistakes,
    to_query_pairs,
)
from clerkship.simulators.fhir.assertions.shown_resources import find_sandbox_name
from clerkship.simulators.fhir.assertions.subject import CriterionSubject, explain_no_reference, find_subject
from clerkship.simulators.fhir.inputs import FhirSandboxName
from clerkship.simulators.fhir.state import FhirState


class FhirField(Frozen):
    """A dotted path or FHIRPath, and a literal or matcher for its values."""

    path: TimedPathText
    expected: Expected

    def compare(self, resource: Resource, now: datetime | None) -> FieldCheck:
        """Compare the values at the path with the expectation. `now` is for paths that use the current time."""
        values = find_values(resource, self.path, now)
        return field_check(self.path, self.expected, one_or_all(values), passed=values_match(self.expected, values))


class FhirResourceState(SelectionAssertion):
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
    sandbox: FhirSandboxName = None

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
            raise ValueError(f"`{counted[0]}` and `{counted[1]}` do not go together")
        return self

    def explain_unscoped(self, record_type: str | None = None) -> str:
        """Return that no resource of the type can be about a record, if that is so."""
        return explain_no_reference(self.resource_type, record_type)

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield the resources that the search finds in the final chart."""
        for resource in self._find_resources(evidence.state(FhirState, self.sandbox), find_subject(evidence)):
            yield Compared(get_key(resource), tuple(field.compare(resource, evidence.now) for field in self.fields))

    def check_best(self, compared: Sequence[Compared], evidence: Evidence) -> Check:
        """Report the resources that `which` names."""
        if self.which == "all":
            return self.check_every(compared, evidence)
        if self.which == "any" or len(compared) == 1:
            return super().check_best(compared, evidence)
        check = super().check_best(compared[:1], evidence)
        number = f"the first of {len(compared)} {self.describe_selection(evidence)}"
        return check._replace(detail=f"{check.detail} ({number})")

    def check(self, evidence: Evidence) -> Check:
        """Compare the resources. One that is not as expected gives no credit for what the agent found there."""
        check = super().check(evidence)
        if check.passed or self.is_counted or not check.score:
            return check
        return check._replace(score=self._score_changes(list(self.compare(evidence)), evidence))

    def _score_changes(self, compared: Sequence[Compared], evidence: Evidence) -> float:
        """Return the share of fields that the agent made right, of those that were wrong before it or are now."""
        state = evidence.state(FhirState, self.sandbox)
        changes = find_agent_changes(state.chart, evidence, find_sandbox_name(evidence, state))
        before = {change.key: change.before for change in changes}
        if self.which != "all":
            best = max(compared, key=lambda each: share_passed(each.rows))
            compared = [best if self.which == "any" else compared[0]]
        right = wrong = 0
        for each in compared:
            is_untouched, earlier = each.name not in before, before.get(each.name)
            for field, row in zip(self.fields, each.rows, strict=True):
                was_right = is_untouched or (earlier is not None and field.compare(earlier, evidence.now).passed)
                right += row.passed and not was_right
                wrong += not row.passed
        return right / (right + wrong)

    def describe_selection(self, evidence: Evidence) -> str:
        subject = find_subject(evidence)
        query = "&".join(f"{name}={value}" for name, value in to_query_pairs(self.search))
        return self.resource_type + (f" with {query}" if query else "") + (f" about {subject}" if subject else "")

    def describe_expectation(self) -> str:
        return describe_fields(self.fields)

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterable[str]:
        if compared:
            return ()
        return self._explain_missing(evidence.state(FhirState, self.sandbox), find_subject(evidence))

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
