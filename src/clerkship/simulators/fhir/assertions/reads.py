"""`fhir_was_read` and `fhir_was_not_read`: what the agent read, by type, id, content, subject and time."""

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.assertions import occurrence
from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.events.query import describe_match, find_first
from clerkship.events.request_line import render_event_request
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.fhirpath import PathText, resource_matches
from clerkship.formats.fhir.names import RESOURCE_ID, ResourceTypeName
from clerkship.formats.fhir.resource import find_patients
from clerkship.formats.fhir.search import matches_search
from clerkship.formats.fhir.search.compartment import compartment_parameters
from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch, Expected
from clerkship.sandbox.assertion import Assertion, Check
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
from clerkship.simulators.fhir.inputs import FhirSandboxName
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
    sandbox: FhirSandboxName = None

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
            requests = ((resource, resource.event.request) for resource in shown)
            shown = [each for each, request in requests if bool(request and request.scope) == self.with_scopes]
        first = find_first(evidence.events, self.before)
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


def list_keys(resources: Sequence[ShownResource]) -> str:
    """List the first keys, each once, and how many more there are."""
    return (
        occurrence.join_first(list(dict.fromkeys(resource.key for resource in resources)), most=MAX_NAMES) or "nothing"
    )


class FhirWasRead(ReadAssertion):
    """The agent received such a resource: from a read, a search, a history or `$everything`. `input_entity_id` limits
    the check to that record and resources that refer to it.
    """

    name: ClassVar[str] = "fhir_was_read"
    shorthand: ClassVar[str | None] = "resource_type"
    count: Annotated[
        CountExpectation | None, Field(description="number of different resources; at least one if not given")
    ] = None

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return allows_zero(self.count)

    def check(self, evidence: Evidence) -> Check:
        """Look for such reads in the log."""
        reads, expected = list(self.find_matching(evidence)), self.count if self.count is not None else {"gte": 1}
        number = len({read.key for read in reads})
        passed, description = matches_expected(expected, number), self.describe(evidence)
        seq = reads[0].event.seq if reads else None
        row = FieldCheck(path="read", expected=expected, actual=number, passed=passed, seq=seq)
        expectation = f" (expected {describe_expected(expected)})" if self.count is not None else ""
        if reads:
            first = f", first {evidence.when(reads[0].event)}" if passed else ""
            return Check.of(passed, f"the agent read {list_keys(reads)}{first}: {description}{expectation}", row)
        all_reads = self.find_all_shown(evidence)
        instead = f"; it read {list_keys(all_reads)}" if all_reads else "; it read nothing"
        return Check.of(passed, f"the agent read no {description}{expectation}{instead}", row)


MAX_ROWS = 50


class FhirWasNotRead(ReadAssertion):
    """The agent received no such resource. With `patient_other_than`, it received none of another patient: no other
    Patient, and no resource in the compartment of a patient that refers to none of the named patients.
    """

    name: ClassVar[str] = "fhir_was_not_read"
    shorthand: ClassVar[str | None] = "resource_type"
    holds_on_inaction: ClassVar[bool] = True
    entity_fields: ClassVar[tuple[str, ...]] = ("patient_other_than",)
    patient_other_than: Annotated[
        str | tuple[str, ...] | None, Field(description="entity ids of the patients whose resources may be read")
    ] = None
    except_types: Annotated[
        tuple[ResourceTypeName, ...], Field(description="types that may be read nevertheless, such as Patient")
    ] = ()

    @model_validator(mode="after")
    def _check_exceptions(self) -> Self:
        if self.resource_type is not None and self.resource_type in self.except_types:
            message = f"{self.resource_type} is also the `resource_type`, so the assertion could never fail"
            raise build_located_error([(("except_types",), message)])
        return self

    def check(self, evidence: Evidence) -> Check:
        """Look for such reads in the log."""
        reads = [
            shown for shown in self.find_matching(evidence) if shown.key.partition("/")[0] not in self.except_types
        ]
        description = self.describe(evidence)
        if self.patient_other_than is not None:
            own = {patient.key for patient in self._patients(evidence)}
            reads = [shown for shown in reads if belongs_to_others(shown, own)]
            description = f"{description} of a patient other than {', '.join(sorted(own))}"
        if not reads:
            row = FieldCheck(path="read", expected=0, actual=0, passed=True)
            return Check.of(True, f"the agent read no {description}", row)
        first = {shown.key: shown for shown in reversed(reads)}
        rows = [
            FieldCheck(
                path=key, expected="(not read)", actual=describe_request(shown), passed=False, seq=shown.event.seq
            )
            for key, shown in sorted(first.items(), key=lambda item: item[1].event.seq)[:MAX_ROWS]
        ]
        return Check.of(
            False, f"the agent read {list_keys(reads)}, first {evidence.when(reads[0].event)}: {description}", *rows
        )

    def _patients(self, evidence: Evidence) -> Iterator[CriterionSubject]:
        named = self.patient_other_than or ()
        for name in (named,) if isinstance(named, str) else named:
            subject = CriterionSubject(name, evidence.entities.get(name, {}))
            if subject.type != "Patient":
                raise InputError.of(f"the entity `{name}` is a {subject.type}, not a Patient")
            yield subject


def describe_request(shown: ShownResource) -> str:
    """Return the request, or the operation if the read is part of a write."""
    return render_event_request(shown.event) or str(getattr(shown.event.payload, "operation", "history"))


def belongs_to_others(shown: ShownResource, own: Collection[str]) -> bool:
    """Return whether a resource belongs to patients, and to none of these.

    A Task counts too: R4 forgot it in the compartment of patients, and R5 has it.
    """
    type = shown.key.partition("/")[0]
    if type == "Patient":
        return shown.key not in own
    patients = find_patients(shown.resource) if type == "Task" or compartment_parameters("Patient", type) else set()
    return bool(patients) and patients.isdisjoint(own)
