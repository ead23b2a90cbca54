"""Ask a payer what a CoverageEligibilityRequest in the chart asks."""

from collections.abc import Mapping
from functools import partial

from clerkship.events.event import Event
from clerkship.payer.answer import EligibilityAnswer
from clerkship.payer.name_sorts import normalize_member_id
from clerkship.payer.state import PayerState
from clerkship.reactions.contract import React
from clerkship.reactions.eligibility_request import REQUEST_TYPE
from clerkship.reactions.fhir_to_payer.inquiry import build_inquiry
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.events import ResourceCreated
from clerkship.simulators.fhir.state import FhirState


def ask_payer(state: PayerState, action: ActionContext, event: Event) -> EligibilityAnswer | None:
    """Check the eligibility that a new request asks about.

    Other resources are ignored, and so are requests that are not active.
    """
    created = event.payload
    if not isinstance(created, ResourceCreated) or created.type != REQUEST_TYPE:
        return None
    if created.resource.get("status") != "active":
        return None
    inquiry = build_inquiry(created.resource, action.source(FhirState), partial(has_dependents, state))
    return state.check_eligibility(action, inquiry, reference=f"{REQUEST_TYPE}/{created.id}")


def has_dependents(state: PayerState, payer_id: str, member_id: str) -> bool:
    """Return whether a payer has several people under a member id."""
    return len(state.book.keys_by_id.get((payer_id, normalize_member_id(member_id)), ())) > 1


REACTIONS: Mapping[str, React] = {ResourceCreated.kind: ask_payer}
