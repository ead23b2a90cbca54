"""Ask a payer what a CoverageEligibilityRequest in the chart asks."""

from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any

from clerkship.events.event import Event
from clerkship.formats.fhir.resource import Resource, list_objects, parse_reference
from clerkship.payer.answer import EligibilityAnswer
from clerkship.payer.fhir_parties import (
    IsSharedId,
    LinkedResources,
    get_text,
    has_dependents,
    list_codes,
    read_parties,
)
from clerkship.payer.inquiry import EligibilityInquiry, ServiceType
from clerkship.payer.members import find_procedure_code
from clerkship.payer.state import PayerState
from clerkship.reactions.contract import React
from clerkship.reactions.payer_codes import REQUEST_TYPE, find_service_type
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.events import ResourceCreated
from clerkship.simulators.fhir.state import FhirState
from clerkship.text.dates import parse_first_day


def build_inquiry(request: Resource, chart: FhirState, is_shared: IsSharedId = lambda *_: False) -> EligibilityInquiry:
    """Return what a request asks the payer. What the request and its chart do not say is left out."""

    def find_resource(reference: str) -> Resource | None:
        target = parse_reference(reference)
        return chart.resource(target.key) if target is not None else None

    items = list_objects(request, "item")
    return EligibilityInquiry(
        **read_parties(request, LinkedResources(request, find_resource), is_shared),
        service_date=_find_service_date(request),
        service_types=_list_service_types(items),
        procedure_codes=_list_procedure_codes(items),
    )


def _find_service_date(request: Resource) -> date | None:
    """Return the day of service: the first day of a period."""
    period = request.get("servicedPeriod")
    texts = (get_text(request, "servicedDate"), get_text(period, "start"), get_text(period, "end"))
    return next((day for text in texts if (day := parse_first_day(text)) is not None), None)


def _list_service_types(items: list[dict[str, Any]]) -> tuple[ServiceType, ...]:
    """Return the service types that items name. An unknown one asks about the plan as a whole."""
    types: list[ServiceType] = []
    for item in items:
        if isinstance(item.get("category"), dict):
            codes = list_codes(item["category"])
            types.append(next(filter(None, map(find_service_type, codes)), "plan"))
    return tuple(dict.fromkeys(types)) or ("plan",)


def _list_procedure_codes(items: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the code of the product or service of each item."""
    return tuple(dict.fromkeys(code for item in items if (code := find_procedure_code(item.get("productOrService")))))


def ask_payer(state: PayerState, action: ActionContext, event: Event) -> EligibilityAnswer | None:
    """Check the eligibility that a new request asks about.

    Other resources are ignored, and so are requests that are not active.
    """
    created = event.payload
    if not isinstance(created, ResourceCreated) or created.type != REQUEST_TYPE:
        return None
    if created.resource.get("status") != "active":
        return None
    inquiry = build_inquiry(created.resource, action.source(FhirState), partial(has_dependents, state.book))
    return state.check_eligibility(action, inquiry, reference=f"{REQUEST_TYPE}/{created.id}")


REACTIONS: Mapping[str, React] = {ResourceCreated.kind: ask_payer}
