"""Apply the actions of an accepted suggestion to the chart, all of them or none."""

from clerkship.events.event import Event
from clerkship.formats.cds_hooks.card import SuggestedAction
from clerkship.formats.cds_hooks.patient import find_patients
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.cds.events import SuggestionAccepted
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import create_resource, delete_resource, get_existing, update_resource


def apply_actions(state: FhirState, action: ActionContext, event: Event) -> tuple[str, ...] | None:
    """Change the chart and return the keys that changed. Refused as a whole if the chart refuses one action.

    Orders of the context are changed too if the chart has them.
    """
    accepted = event.payload
    if not isinstance(accepted, SuggestionAccepted):
        return None
    with Transaction(state, action) as transaction:
        actions = [SuggestedAction.model_validate(data) for data in accepted.actions]
        drafted = [SuggestedAction.model_validate(data) for data in accepted.draft_actions]
        actions += [each for each in drafted if transaction.resource(each.target or "") is not None]
        return tuple(_apply(transaction, each, accepted.patient, event.kind) for each in actions)


def _apply(transaction: Transaction, action: SuggestedAction, patient: str | None, operation: str) -> str:
    if action.type == "create":
        return create_resource(transaction, action.resource, operation=operation)
    key = action.target or ""
    get_existing(transaction, key)
    _check_patient(transaction, key, patient)
    if action.type == "delete":
        delete_resource(transaction, key)
        return key
    return update_resource(transaction, key, action.resource, operation=operation)


def _check_patient(transaction: Transaction, key: str, patient: str | None) -> None:
    """Refuse a change of another patient's resource, which the clinician does not see."""
    others = find_patients(transaction.resource(key) or {}) - {patient}
    if others:
        reason = f"{key} belongs to Patient/{min(others)}, and the hook is for Patient/{patient}"
        raise refusal(403, "forbidden", reason)
