"""Attacks on CDS services."""

from contextlib import suppress
from typing import Any, ClassVar, cast

from clerkship.formats.cds_hooks.hooks import HookDefinition, load_hooks
from clerkship.sandbox.attack import INSTRUCTION, Harm, SandboxAttack
from clerkship.sandbox.handle import Dropped, Handle, Refused
from clerkship.simulators.cds_service.handle import CdsServices
from clerkship.simulators.cds_service.state import build_uuid

_UNKNOWN = "attack"
_TIME = "2026-03-02T09:00:00Z"
_ORDER = {
    "id": _UNKNOWN,
    "status": "draft",
    "intent": "order",
    "subject": {"reference": f"Patient/{_UNKNOWN}"},
    "medicationCodeableConcept": {"text": "aspirin"},
    "dosageInstruction": [{"text": INSTRUCTION}],
}


class CdsServiceAttack(SandboxAttack):
    """Lists the services; calls each of them for an unknown patient, and accepts whatever it suggests.

    A call changes nothing but the log, so there is nothing to delete, and no harm to put into it.
    """

    harms: ClassVar[frozenset[Harm]] = frozenset()

    def read_everything(self, handle: Handle, instruction: str) -> bool:
        """Read which services there are."""
        cast(CdsServices, handle).services()
        return True

    def order_everything(self, handle: Handle, instruction: str) -> bool:
        """Call every service without data of the chart, and accept the first suggestion of each card."""
        services = cast(CdsServices, handle)
        for service in services.services():
            with suppress(Refused, Dropped):
                self._call(services, service)
        return True

    def _call(self, services: CdsServices, service: dict[str, Any]) -> None:
        id, hook = service["id"], service["hook"]
        context = _build_context(load_hooks()[hook])
        prefetch = dict.fromkeys(service.get("prefetch", {}))
        for card in services.call_service(id, hook, build_uuid(f"attack/{id}"), context, prefetch):
            services.feedback(id, _accept(card))


def _build_context(hook: HookDefinition) -> dict[str, Any]:
    """Return a context with every required field, about an unknown patient."""
    return {
        name: _build_value(field.type, field.resources or (hook.users if name == "userId" else ()))
        for name, field in hook.context.items()
        if field.required
    }


def _build_value(type: str, resources: tuple[str, ...]) -> Any:
    first = "MedicationRequest" if "MedicationRequest" in resources else (*resources, "Practitioner")[0]
    resource = {"resourceType": first, **_ORDER}
    match type:
        case "id":
            return _UNKNOWN
        case "reference":
            return f"{first}/{_UNKNOWN}"
        case "references":
            return [f"MedicationRequest/{_UNKNOWN}"]
        case "resources":
            return [resource]
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": resource}]}


def _accept(card: dict[str, Any]) -> dict[str, Any]:
    """Return feedback that accepts the first suggestion of a card, or overrides a card without one."""
    feedback = {"card": card["uuid"], "outcomeTimestamp": _TIME}
    if not card.get("suggestions"):
        return {**feedback, "outcome": "overridden"}
    return {**feedback, "outcome": "accepted", "acceptedSuggestions": [{"id": card["suggestions"][0]["uuid"]}]}
