"""The Python client of a CDS service."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import orjson

from clerkship.sandbox.handle import Handle
from clerkship.simulators.cds_service.state import to_request


class CdsServices(Handle):
    """Call the services as an EHR. Where they require a JWT, register its keys first and give one with each call."""

    def services(self) -> list[dict[str, Any]]:
        """Return the services."""
        return self._list("/cds-services", "services")

    def call_service(
        self,
        service: str,
        hook: str,
        instance: str,
        context: Mapping[str, Any],
        prefetch: Mapping[str, Any],
        *,
        jwt: str = "",
    ) -> list[dict[str, Any]]:
        """Call a service with a UUID of the hook; return its cards."""
        body = to_request(hook, instance, context, prefetch)
        cards: list[dict[str, Any]] = self._post(f"/cds-services/{quote(service, safe='')}", body, jwt)["cards"]
        return cards

    def feedback(self, service: str, *feedback: Mapping[str, Any], jwt: str = "") -> None:
        """Report what became of cards."""
        body = {"feedback": [dict(each) for each in feedback]}
        self._post(f"/cds-services/{quote(service, safe='')}/feedback", body, jwt)

    def register_client(self, issuer: str, jwks: Mapping[str, Any]) -> None:
        """Register the public keys (a JWK Set) with which the JWTs of an issuer are verified."""
        self._json("POST", "/clients", {"issuer": issuer, "jwks": dict(jwks)})

    def _post(self, path: str, data: Any, jwt: str) -> Any:
        headers = {"authorization": f"Bearer {jwt}"} if jwt else {}
        return orjson.loads(self.request("POST", path, headers=headers, body=orjson.dumps(data)).body)
