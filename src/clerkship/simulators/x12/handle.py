"""The Python client of an `x12` sandbox."""

from typing import Any

import orjson

from clerkship.sandbox.handle import Handle
from clerkship.simulators.x12.http import EDI

_FHIR_JSON = "application/fhir+json"


class X12(Handle):
    """Sends interchanges, and reads the transactions of the run."""

    def profile(self) -> dict[str, Any]:
        """Return what an interchange must state: ids of sender and receiver, usage, guides of the transactions."""
        return self._object("GET", "/x12")

    def send(self, edi: str) -> str:
        """Send an interchange and return the reply as EDI; empty if there is none."""
        return self.request("POST", "/x12/interchanges", body=edi.encode(), media=EDI).body.decode()

    def exchange(self, edi: str) -> dict[str, Any]:
        """Send one interchange and return the reply as JSON: `{"accepted", "sent", "replies": [{"transactions"}]}`."""
        reply = self.request("POST", "/x12/interchanges", query={"view": "json"}, body=edi.encode(), media=EDI)
        interchange: dict[str, Any] = orjson.loads(reply.body)["interchanges"][0]
        return interchange

    def interchanges(self) -> list[dict[str, Any]]:
        """Return the interchanges that were sent, each with what was in it and in its reply."""
        return self._list("/x12/interchanges", "interchanges")

    def interchange(self, id: str) -> dict[str, Any]:
        """Return an interchange with the content of its replies."""
        return self._object("GET", f"/x12/interchanges/{id}")

    def transactions(self, transaction: str = "", trace: str = "") -> list[dict[str, Any]]:
        """Return the transactions that were sent and received: all, those of a kind, or with a trace number."""
        query = {"transaction": transaction, "trace": trace}
        return self._list("/x12/transactions", "transactions", query)

    def transaction(self, id: str) -> dict[str, Any]:
        """Return a transaction with its content, as JSON and as EDI."""
        return self._object("GET", f"/x12/transactions/{id}")

    def submit(self, bundle: dict[str, Any]) -> dict[str, Any]:
        """Submit a prior authorization request over FHIR (PAS); return the Bundle whose first entry is the answer."""
        answer: dict[str, Any] = orjson.loads(self._post_bundle("submit", bundle))
        return answer

    def inquire(self, bundle: dict[str, Any]) -> list[dict[str, Any]]:
        """Inquire about prior authorizations over FHIR (PAS); return a Bundle for each."""
        parameters = orjson.loads(self._post_bundle("inquire", bundle)).get("parameter", [])
        return [parameter["resource"] for parameter in parameters]

    def _post_bundle(self, operation: str, bundle: dict[str, Any]) -> bytes:
        body = orjson.dumps(bundle)
        return self.request("POST", f"/fhir/Claim/${operation}", body=body, media=_FHIR_JSON).body
