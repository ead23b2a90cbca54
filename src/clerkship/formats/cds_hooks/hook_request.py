"""The request with which an EHR calls a CDS service."""

from typing import Any, Literal, Self

from pydantic import ConfigDict, model_validator

from clerkship.formats.cds_hooks.wire_model import Extension, Text, WireModel
from clerkship.model.frozen import Frozen, Whole


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
