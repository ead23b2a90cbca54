"""The base class of assertions on what the agent read: it selects reads by type, id, content, subject and time."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.assertions import occurrence
from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.query import describe_match, select
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.expectation import resource_matches
from clerkship.formats.fhir.fhirpath import PathText
from clerkship.formats.fhir.names import RESOURCE_ID, ResourceTypeName
from clerkship.formats.fhir.search import matches_search
from clerkship.model.frozen import Flag
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import describe_expected
from clerkship.model.scenario import EventMatch, Expected
from clerkship.sandbox.assertion import Assertion
from clerkship.simulators.fhir.assertions.search_field import (
    SearchField,
    find_expectation_mistakes,
    find_path_mistakes,
    find_result_parameter_mistakes,
    find_search_mistakes,
    to_query_pairs,
)
from clerkship.simulators.fhir.assertions.shown_resources import ShownResource, find_sandbox_name, find_shown_resources
from clerkship.simulators.fhir.assertions.subject import CriterionSubject, explain_no_reference, find_subject
from clerkship.simulators.fhir.state import FhirState


class ReadAssertion(Assertion):
    """Selects resources that the agent received from reads, searches, histories and `$everything`."""

    simulator: ClassVar[str | None] = "fhir"
    scoped: ClassVar[bool] = True
    resource_type: Annotated[ResourceTypeName | None, Field(description="resource type; any if not given")] = None
    id: Annotated[
        str | tuple[str, ...] | None,
        RESOURCE_ID,
        Field(description="one id or several; `Patient/42` gives the type too"),
    ] = None
    search: SearchField = {}
    where: Annotated[
        dict[PathText, Expected], Field(description="path -> literal or matcher, on the version that was read")
    ] = {}
    before: Annotated[
        EventMatch | None,
        Field(description="only reads before the first such event; all reads if there is none"),
    ] = None
    with_scopes: Annotated[
        Flag | None,
        Field(description="only reads with an access token with scopes, as CDS services get; if false, all others"),
    ] = None
    sandbox: Annotated[str | None, Field(description="name of the FHIR sandbox; not needed if there is only one")] = (
        None
    )

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        if self.search and self.resource_type is None:
            raise ValueError("`search` needs `resource_type`")
        paths: list[tuple[FieldPath, str]] = [(("where", path), path) for path in self.where]
        expectations: list[tuple[FieldPath, str, Any]] = [
            (("where", path), path, expectation) for path, expectation in self.where.items()
        ]
        mistakes = [
            *find_path_mistakes(self.resource_type, paths),
            *find_expectation_mistakes(self.resource_type, expectations),
        ]
        mistakes += [*self._id_mistakes(), *find_result_parameter_mistakes(self.search)]
        mistakes += find_search_mistakes(self.resource_type, self.search) if self.resource_type is not None else ()
        if mistakes:
            raise build_located_error(mistakes)
        return self

    def explain_unscoped(self, record_type: str | None = None) -> str:
        """Return that no resource of the type can be about a record, if that is so."""
        return explain_no_reference(self.resource_type, record_type)

    def _id_mistakes(self) -> Iterator[tuple[FieldPath, str]]:
        """Yield ids with an unknown type, or with a type other than `resource_type`."""
        for id in (self.id,) if isinstance(self.id, str) else self.id or ():
            type = id.rpartition("/")[0]
            if type and type not in RESOURCE_TYPES:
                yield ("id",), f"`{id}`: unknown resource type `{type}`"
            elif type and self.resource_type not in (None, type):
                yield ("id",), f"`{id}` is not a {self.resource_type}"

    def find_all_shown(self, evidence: Evidence) -> Sequence[ShownResource]:
        """Return all resources that the agent received, up to the event in `before`."""
        state = evidence.state(FhirState, self.sandbox)
        shown = find_shown_resources(evidence, find_sandbox_name(evidence, state))
        if self.with_scopes is not None:
            shown = [resource for resource in shown if _has_scopes(resource.event) == self.with_scopes]
        first = next(select(evidence.events, self.before), None) if self.before is not None else None
        if first is None:
            return shown
        return [resource for resource in shown if (resource.event.at, resource.event.seq) < (first.at, first.seq)]

    def find_matching(self, evidence: Evidence) -> Iterator[ShownResource]:
        """Return those resources that the assertion is about."""
        state, subject = evidence.state(FhirState, self.sandbox), find_subject(evidence)
        if subject is not None and self.resource_type is not None:
            subject.require_reference_parameters(self.resource_type)
        return (shown for shown in self.find_all_shown(evidence) if self._matches(shown, state, subject))

    def _matches(self, shown: ShownResource, state: FhirState, subject: CriterionSubject | None) -> bool:
        type, _, id = shown.key.partition("/")
        if self.resource_type not in (None, type) or not self._matches_id(shown.key, id):
            return False
        if not (self.where or self.search or subject is not None):
            return True
        resource = shown.resource
        return resource is not None and (
            resource_matches(resource, self.where)
            and (not self.search or matches_search(state, type, to_query_pairs(self.search), resource))
            and (subject is None or subject.includes(state, shown.key, resource))
        )

    def _matches_id(self, key: str, id: str) -> bool:
        ids = self.id if isinstance(self.id, tuple) else (self.id,) if self.id is not None else ()
        return not ids or id in ids or key in ids

    def describe(self, evidence: Evidence) -> str:
        """Describe the resources that the assertion is about."""
        subject = find_subject(evidence)
        words = [self.resource_type or "resource"]
        if self.id is not None:
            words.append(self.id if isinstance(self.id, str) else " or ".join(self.id))
        query = "&".join(f"{name}={value}" for name, value in to_query_pairs(self.search))
        words += [f"with {query}"] if query else []
        words += (
            ["where " + ", ".join(f"{path} {describe_expected(e)}" for path, e in self.where.items())]
            if self.where
            else []
        )
        words += [f"about {subject}"] if subject is not None else []
        words += [f"before {describe_match(self.before)}"] if self.before is not None else []
        if self.with_scopes is not None:
            words.append(f"{'with' if self.with_scopes else 'without'} an access token with scopes")
        return " ".join(words)


def _has_scopes(event: Event) -> bool:
    return event.request is not None and bool(event.request.scope)


def list_keys(resources: Sequence[ShownResource]) -> str:
    """List the first keys, each once, and how many more there are."""
    return (
        occurrence.join_first(list(dict.fromkeys(resource.key for resource in resources)), most=MAX_NAMES) or "nothing"
    )
