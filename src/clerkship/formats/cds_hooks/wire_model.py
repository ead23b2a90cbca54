"""The JSON objects of CDS Hooks except cards: services, hook requests and feedback."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from clerkship.model.frozen import Frozen, Whole

Text = Annotated[str, Field(min_length=1)]
"""A string that is not empty: empty values are not allowed unless the specification says so ("Use of JSON")."""
Extension = dict[str, Any]
"""Data that a field of its own name explains, as implementers agree ("Extensions")."""
DISCOVERY_PATH = "/cds-services"
"""The path of the discovery endpoint, below the base URL of the services."""

PrefetchTemplates = dict[str, Text]
"""A query of FHIR by prefetch key."""
Outcome = Literal["accepted", "overridden"]
"""A card that the user ignores gets no feedback."""


class WireModel(Frozen):
    """A JSON object of CDS Hooks. Fields are read by their name on the wire (`selectionBehavior`) or in Python."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    def to_wire(self) -> dict[str, Any]:
        """Return the object as JSON data, with the names of the specification and without fields that have no value."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


class CdsCoding(WireModel):
    """A code, the system that defines it, and a text for people."""

    code: Text
    system: Text | None = None
    display: Text | None = None


class FhirAuthorization(Frozen):
    """An access token for the FHIR server of the EHR. Its field names are those of OAuth 2.0 on the wire too."""

    access_token: Text
    token_type: Literal["Bearer"] = "Bearer"
    expires_in: Whole
    """Seconds until the token expires."""
    scope: Text
    subject: Text
    """The client identifier of the service."""
    patient: str | None = None
    """The id of the patient to whom scopes such as `patient/Observation.read` refer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_wire(self) -> dict[str, Any]:
        """Return the object as JSON data; `token_type` is always there."""
        return self.model_dump(mode="json", exclude_none=True)


class HookRequest(WireModel):
    """A hook that fired: its context, and what the service needs to answer."""

    hook: Text
    hook_instance: Text
    context: dict[str, Any]
    fhir_server: Text | None = None
    fhir_authorization: FhirAuthorization | None = None
    prefetch: dict[str, Any] | None = None
    """A resource, a searchset Bundle, or None for "there is none", by prefetch key."""
    extension: Extension | None = None

    @model_validator(mode="after")
    def _check_server(self) -> Self:
        if self.fhir_authorization is not None and self.fhir_server is None:  # invariant cds-r-1
            raise ValueError("fhirServer is required with fhirAuthorization")
        return self

    def to_wire(self) -> dict[str, Any]:
        """Return the request as JSON data."""
        data = super().to_wire()
        if self.fhir_authorization is not None:
            data["fhirAuthorization"] = self.fhir_authorization.to_wire()
        return data


class CdsService(WireModel):
    """One service: the hook on which it is called, and the data that it wants with the call."""

    hook: Text
    id: Annotated[Text, Field(description="the last part of its URL: {base}/cds-services/{id}")]
    description: Text
    title: Text | None = None
    prefetch: PrefetchTemplates = Field(default_factory=dict)
    usage_requirements: Annotated[Text | None, Field(description="what a client must fulfil, for people")] = None
    extension: Extension | None = None


class AcceptedSuggestion(WireModel):
    """A suggestion that the user accepted, by its uuid."""

    id: Text
    extension: Extension | None = None


class OverrideReason(WireModel):
    """Why the user did not follow a card: one of its reasons, a comment, or both."""

    reason: CdsCoding | None = None
    user_comment: Text | None = None
    extension: Extension | None = None


class CardFeedback(WireModel):
    """What the user did with one card."""

    card: Text
    """The uuid of the card."""
    outcome: Outcome
    outcome_timestamp: Text
    """When, in UTC and ISO 8601."""
    accepted_suggestions: tuple[AcceptedSuggestion, ...] = ()
    override_reason: OverrideReason | None = None
    extension: Extension | None = None

    @model_validator(mode="after")
    def _check_outcome(self) -> Self:
        if self.outcome == "accepted" and not self.accepted_suggestions:
            raise ValueError("acceptedSuggestions is required if the outcome is accepted")
        if self.outcome == "accepted" and self.override_reason is not None:
            raise ValueError("overrideReason is only for the outcome overridden")
        return self


class FeedbackRequest(WireModel):
    """The body of a call of the feedback endpoint."""

    feedback: tuple[CardFeedback, ...]
