"""The Python client of a CDS service."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from clerkship.sandbox.handle import Handle
from clerkship.simulators.cds_service.state import to_request


class CdsServices(Handle):
    """Call the services as an EHR."""

    def services(self) -> list[dict[str, Any]]:
        """Return the services."""
        services: list[dict[str, Any]] = self._json("GET", "/cds-services")["services"]
        return services

    def call_service(
        self, service: str, hook: str, instance: str, context: Mapping[str, Any], prefetch: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Call a service with a UUID of the hook; return its cards."""
        path, body = f"/cds-services/{quote(service)}", to_request(hook, instance, context, prefetch)
        cards: list[dict[str, Any]] = self._json("POST", path, body)["cards"]
        return cards

    def feedback(self, service: str, *feedback: Mapping[str, Any]) -> None:
        """Report what became of cards."""
        self._json("POST", f"/cds-services/{quote(service)}/feedback", {"feedback": [dict(each) for each in feedback]})
