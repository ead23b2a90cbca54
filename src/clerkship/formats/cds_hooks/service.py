"""A CDS service as the discovery endpoint describes it."""

from typing import Annotated

from pydantic import Field

from clerkship.formats.cds_hooks.wire_model import Extension, Text, WireModel

DISCOVERY_PATH = "/cds-services"
"""The path of the discovery endpoint, below the base URL of the services."""

PrefetchTemplates = dict[str, Text]
"""A query of FHIR by prefetch key."""


class CdsService(WireModel):
    """One service: the hook on which it is called, and the data that it wants with the call."""

    hook: Text
    id: Annotated[Text, Field(description="the last part of its URL: {base}/cds-services/{id}")]
    description: Text
    title: Text | None = None
    prefetch: PrefetchTemplates = Field(default_factory=dict)
    usage_requirements: Annotated[Text | None, Field(description="what a client must fulfil, for people")] = None
    extension: Extension | None = None

    @property
    def path(self) -> str:
        """The path of the service, below the base URL."""
        return f"{DISCOVERY_PATH}/{self.id}"

    @property
    def feedback_path(self) -> str:
        """The path of its feedback endpoint."""
        return f"{self.path}/feedback"


class Discovery(WireModel):
    """The answer of the discovery endpoint."""

    services: tuple[CdsService, ...]
