"""File the answers of a payer in the chart, as CoverageEligibilityResponse resources."""

from collections.abc import Mapping

from clerkship.events.event import Event
from clerkship.payer.events import EligibilityChecked
from clerkship.reactions.contract import React
from clerkship.reactions.eligibility_request import REQUEST_TYPE
from clerkship.reactions.payer_to_fhir.response import build_response
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import create_resource


def file_answer(state: FhirState, action: ActionContext, event: Event) -> str | None:
    """Create the response to a request of this chart, and return its key. Answers to other questions are ignored."""
    checked = event.payload
    if not isinstance(checked, EligibilityChecked):
        return None
    key = checked.reference or ""
    request = state.resource(key) if key.startswith(f"{REQUEST_TYPE}/") else None
    if request is None:
        return None
    with Transaction(state, action) as transaction:
        response = build_response(request, checked.read_answer(), transaction.local_time, transaction.exists)
        return create_resource(transaction, response, operation=event.kind)


REACTIONS: Mapping[str, React] = {EligibilityChecked.kind: file_answer}
