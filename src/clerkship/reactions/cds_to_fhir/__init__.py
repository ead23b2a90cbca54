"""Answer prefetch queries from the chart, and apply accepted suggestions to it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from clerkship.events.event import Event
from clerkship.formats.cds_hooks.card import SuggestedAction
from clerkship.formats.cds_hooks.patient import find_patients
from clerkship.formats.cds_hooks.prefetch import PrefetchQuery, ReadQuery, UnresolvedTemplate, parse_query
from clerkship.reactions.contract import React
from clerkship.sandbox.authentication.scope import AccessGrant, parse_scopes
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.cds.events import HookRequested, SuggestionAccepted
from clerkship.simulators.cds.records import Prefetch
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.read import ReadInput, read
from clerkship.simulators.fhir.search import TypeSearch, search_type
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import create_resource, delete_resource, get_existing, update_resource

NOT_FOUND, GONE = 404, 410
PREFETCH_SCOPES = ("patient/*.read",)
NEVER = datetime.max.replace(tzinfo=UTC)
"""The end of access that lasts as long as the queries."""


def fetch_resources(state: FhirState, action: ActionContext, event: Event) -> Prefetch | None:
    """Return a resource, a searchset Bundle or None by key. A key whose query the chart refuses is left out.

    A service chooses the queries, so that they get only the record of the patient of the hook.
    """
    requested = event.payload
    if not isinstance(requested, HookRequested):
        return None
    access = AccessGrant(parse_scopes(PREFETCH_SCOPES), requested.patient, NEVER) if requested.patient else None
    values: dict[str, Any] = {}
    for request in requested.prefetch:
        try:
            values[request.key] = _run_query(state, action, parse_query(request.query), access)
        except (Refusal, UnresolvedTemplate):  # the specification: a query that failed has no key
            continue
    return Prefetch(values)


def _run_query(state: FhirState, action: ActionContext, query: PrefetchQuery, access: AccessGrant | None) -> Any:
    """Run one query. Without data the value is null, not an empty Bundle (specification: prefetch template)."""
    with Transaction(state, action, access=access) as transaction:
        if isinstance(query, ReadQuery):
            return _read(transaction, query)
        parameters = query.parameters
        if not any(name == "_count" for name, _ in parameters):
            # All at once: a service cannot follow a link to the next page.
            parameters = (*parameters, ("_count", str(state.config.max_page_size)))
        search = TypeSearch(type=query.type, query=parameters)
        bundle: dict[str, Any] = orjson.loads(search_type.execute(transaction, search).body)
    if not bundle.get("entry"):
        return None
    return {name: value for name, value in bundle.items() if name != "link"}


def _read(transaction: Transaction, query: ReadQuery) -> Any:
    try:
        return orjson.loads(read.execute(transaction, ReadInput(type=query.type, id=query.id)).body)
    except Refusal as error:
        # Access for one patient refuses a resource that is missing like one of another patient.
        if error.status in (NOT_FOUND, GONE) or transaction.resource(f"{query.type}/{query.id}") is None:
            return None
        raise


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


REACTIONS: Mapping[str, React] = {HookRequested.kind: fetch_resources, SuggestionAccepted.kind: apply_actions}
