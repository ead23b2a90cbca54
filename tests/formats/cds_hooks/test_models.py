"""The JSON objects of CDS Hooks: names on the wire, and rules between fields."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.formats.cds_hooks.card import Card, CardLink, SuggestedAction
from clerkship.formats.cds_hooks.hooks import HOOK_NAMES, check_context, load_hooks
from clerkship.formats.cds_hooks.wire_model import CardFeedback, FeedbackRequest, FhirAuthorization, HookRequest

CARD: dict[str, Any] = {
    "summary": "Warfarin and ibuprofen: risk of bleeding",
    "indicator": "warning",
    "source": {"label": "Interaction check"},
    "selectionBehavior": "any",
    "suggestions": [
        {
            "label": "Remove ibuprofen",
            "uuid": "s-1",
            "isRecommended": True,
            "actions": [{"type": "delete", "description": "Remove", "resourceId": "MedicationRequest/ibu"}],
        }
    ],
}
BUNDLE = {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "MedicationRequest", "id": "ibu"}}]}


def test_card_survives_the_wire() -> None:
    assert Card.model_validate(CARD).to_wire() == CARD


def test_card_with_suggestions_needs_selection_behavior() -> None:
    with pytest.raises(ValidationError, match="selectionBehavior is required"):
        Card.model_validate({key: value for key, value in CARD.items() if key != "selectionBehavior"})


def test_summary_of_140_characters_is_too_long() -> None:
    Card.model_validate({**CARD, "summary": "x" * 139})
    with pytest.raises(ValidationError, match="summary"):
        Card.model_validate({**CARD, "summary": "x" * 140})


@pytest.mark.parametrize("type", ["create", "update"])
def test_create_and_update_need_a_resource(type: str) -> None:
    with pytest.raises(ValidationError, match=f"a {type} needs a resource"):
        SuggestedAction.model_validate({"type": type, "description": "x"})


def test_delete_needs_a_resource_id() -> None:
    with pytest.raises(ValidationError, match="a delete needs a resourceId"):
        SuggestedAction.model_validate({"type": "delete", "description": "x"})


def test_target_of_an_update_is_its_resource() -> None:
    action = SuggestedAction(type="update", resource={"resourceType": "ServiceRequest", "id": "7"})
    assert action.target == "ServiceRequest/7"


def test_app_context_is_for_smart_links() -> None:
    with pytest.raises(ValidationError, match="only for links of type smart"):
        CardLink.model_validate({"label": "x", "url": "https://a.example", "type": "absolute", "appContext": "x"})


def test_access_token_needs_a_fhir_server() -> None:
    token = FhirAuthorization(access_token="t", expires_in=300, scope="patient/Patient.read", subject="svc")
    with pytest.raises(ValidationError, match="fhirServer is required"):
        HookRequest(hook="patient-view", hook_instance="1", context={}, fhir_authorization=token)


def test_request_on_the_wire_has_the_names_of_oauth_and_null_prefetch() -> None:
    token = FhirAuthorization(access_token="t", expires_in=300, scope="patient/Patient.read", subject="svc")
    request = HookRequest(
        hook="patient-view",
        hook_instance="1",
        context={"patientId": "p"},
        fhir_server="http://fhir.example",
        fhir_authorization=token,
        prefetch={"a1c": None},
    )
    wire = request.to_wire()
    assert wire["fhirAuthorization"]["token_type"] == "Bearer"
    assert wire["prefetch"] == {"a1c": None}
    assert HookRequest.model_validate(wire) == request


def test_accepted_feedback_needs_suggestions() -> None:
    with pytest.raises(ValidationError, match="acceptedSuggestions is required"):
        CardFeedback(card="c", outcome="accepted", outcome_timestamp="2026-01-01T00:00:00Z")


def test_feedback_body_is_an_object_with_an_array() -> None:
    entry = CardFeedback(card="c", outcome="overridden", outcome_timestamp="2026-01-01T00:00:00Z")
    body = FeedbackRequest(feedback=(entry,)).to_wire()
    assert body == {"feedback": [{"card": "c", "outcome": "overridden", "outcomeTimestamp": "2026-01-01T00:00:00Z"}]}


def test_every_hook_is_defined() -> None:
    assert tuple(load_hooks()) == HOOK_NAMES


def test_complete_context_has_no_problems() -> None:
    context = {"userId": "Practitioner/1", "patientId": "p", "draftOrders": BUNDLE}
    assert check_context("order-sign", context) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"patientId": None}, "expected an id"),
        ({"patientId": "Patient/p"}, "expected an id"),
        ({"userId": "Patient/p"}, "one of Practitioner, PractitionerRole"),
        ({"draftOrders": []}, "expected a Bundle"),
        ({"draftOrders": {"resourceType": "Bundle"}}, "at least one resource"),
        ({"draftOrders": {"resourceType": "Bundle", "entry": [{}]}}, "not None"),
        ({"draftOrders": {"resourceType": "Bundle", "entry": 5}}, "expected a Bundle"),
    ],
)
def test_wrong_context_field_is_named(change: dict[str, Any], problem: str) -> None:
    context = {"userId": "Practitioner/1", "patientId": "p", "draftOrders": BUNDLE, **change}
    [found] = check_context("order-sign", context)
    assert found.field in change
    assert problem in found.text


def test_missing_context_field_is_named() -> None:
    assert [problem.field for problem in check_context("encounter-start", {"userId": "Practitioner/1"})] == [
        "patientId",
        "encounterId",
    ]
