"""`fhir_was_searched_for`: the agent made a search that would have found a resource, whether or not it exists."""

from typing import Annotated, Any, ClassVar
from urllib.parse import parse_qsl

from pydantic import AfterValidator, Field

from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.request_line import render_event_request
from clerkship.formats.fhir.chart import ChartView
from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import find_patients
from clerkship.formats.fhir.search import matches_search, parse_query
from clerkship.model.frozen import Flag
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.fhir.assertions.shown_resources import find_sandbox_name
from clerkship.simulators.fhir.events import ResourcesSearched
from clerkship.simulators.fhir.inputs import FhirSandboxName
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.steps import require_valid

_SELECTING_PARAMETERS = ("_id", "_lastUpdated", "_tag", "_profile", "_security", "_has", "_filter")
"""Parameters with an underscore that select resources. The others affect how results are returned."""
_EVERYTHING = "$everything"
_MAX_SHOWN = 10


class FhirWasSearchedFor(Assertion):
    """The agent made a search that would have returned this resource if it existed: by parameters that the resource
    matches, in the compartment of its patient, or with `$everything`. Use it for tasks whose answer is that there is
    none: `fhir_was_read` cannot distinguish a search without a match from no search. `input_entity_id` counts only
    searches by that record: by a reference, in its compartment, or by what identifies a person.
    """

    name: ClassVar[str] = "fhir_was_searched_for"
    simulator: ClassVar[str | None] = "fhir"
    scoped: ClassVar[bool] = True
    resource: Annotated[
        dict[str, Any],
        AfterValidator(require_valid),
        Field(description="an example of the resource to be found, valid by FHIR R4"),
    ]
    narrowed: Annotated[
        Flag, Field(description="count only searches with at least one selecting parameter, not those of a whole type")
    ] = True
    sandbox: FhirSandboxName = None

    def check(self, evidence: Evidence) -> Check:
        """Look for such a search in the log."""
        state = evidence.state(FhirState, self.sandbox)
        source = find_sandbox_name(evidence, state)
        searches = [
            event
            for event in evidence.of_kind(ResourcesSearched.kind)
            if event.source == source and event.actor == "agent"
        ]
        about = narrow(evidence, searches, _read_content)
        hit = next((event for event in about if self._would_show(event, state)), None)
        passed, seq = hit is not None, hit.seq if hit is not None else None
        row = FieldCheck(path="searched", expected=True, actual=passed, passed=passed, seq=seq)
        description = f"a search that would have shown this {self.resource['resourceType']}"
        if hit is not None:
            return Check.of(
                True, f"the agent made {description}, {evidence.when(hit)}: {render_event_request(hit)}", row
            )
        instead = "; ".join(str(render_event_request(event)) for event in searches[:_MAX_SHOWN]) or "none"
        more = f"; and {len(searches) - _MAX_SHOWN} more" if len(searches) > _MAX_SHOWN else ""
        return Check.of(False, f"the agent did not make {description}; its searches: {instead}{more}", row)

    def _would_show(self, event: Event, view: ChartView) -> bool:
        search, type = event.payload, self.resource["resourceType"]
        if not isinstance(search, ResourcesSearched):
            return False
        if search.within and search.within not in find_patients(self.resource):
            return False
        pairs = parse_qsl(search.query, keep_blank_values=True)
        if search.operation == _EVERYTHING:
            types = [name for key, value in pairs if key == "_type" for name in value.split(",")]
            return not types or type in types
        criteria = [pair for pair in pairs if _is_criterion(type, pair)]
        narrowed = bool(criteria or search.within or not self.narrowed)
        if search.type not in ("", type) or not narrowed:
            return False
        return all(matches_search(view, type, [pair], self.resource) for pair in criteria)


def _read_content(event: Event) -> ItemContent:
    """Return what tells whom a search is about: its parameters and its compartment, not what it found."""
    search = event.payload
    if not isinstance(search, ResourcesSearched):
        return ItemContent()
    pairs = parse_qsl(search.query, keep_blank_values=True)
    return ItemContent(data=[{"within": search.within}, *({name.partition(":")[0]: value} for name, value in pairs)])


def _is_criterion(type: str, pair: tuple[str, str]) -> bool:
    """Return whether a parameter selects resources. A lenient server ignores parameters that it does not know."""
    if pair[0].startswith("_") and not pair[0].startswith(_SELECTING_PARAMETERS):
        return False
    try:
        parse_query(type, [pair])
    except FhirError:
        return False
    return True
