"""Select the hooks and calls of a criterion."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.field_rows import matches_field
from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.events.evidence import Evidence
from clerkship.formats.cds_hooks.hooks import HookName
from clerkship.formats.fhir.names import PATIENT
from clerkship.model.matcher import describe_expected
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Assertion
from clerkship.simulators.cds.records import ServiceCall, TriggeredHook, list_drafts
from clerkship.simulators.cds.state import CdsState

ResourceFields = dict[str, Expected]
"""Paths in a resource, such as `medicationCodeableConcept.coding.*.code`, and literals or matchers."""


class CallAssertion(Assertion):
    """An assertion about calls of the agent's services."""

    simulator: ClassVar[str | None] = "cds"
    scoped: ClassVar[bool] = True
    hook: Annotated[HookName | None, Field(description="only this hook")] = None
    service: Annotated[str | None, Field(description="only the service with this id")] = None
    patient: Annotated[str | None, PATIENT, Field(description="only hooks for this patient, by id or reference")] = None
    order: Annotated[
        ResourceFields,
        Field(description="only hooks with such a draft order or appointment: path -> literal or matcher"),
    ] = {}
    sandbox: Annotated[str | None, Field(description="which EHR; the only one if not given")] = None

    def select_hooks(self, evidence: Evidence) -> list[TriggeredHook]:
        """Return the hooks that fired and are selected."""
        hooks = evidence.state(CdsState, self.sandbox).hooks.values()
        about = narrow(evidence, hooks, lambda hook: ItemContent(data=hook.context), forbids=self.passes_on_inaction)
        return [hook for hook in about if self._is_selected(hook)]

    def select_calls(self, hooks: Sequence[TriggeredHook]) -> list[ServiceCall]:
        """Return the calls of the selected service for these hooks."""
        return [call for hook in hooks for call in hook.calls or () if self.service in (None, call.service.id)]

    def _is_selected(self, hook: TriggeredHook) -> bool:
        patient = None if self.patient is None else self.patient.removeprefix("Patient/")
        if self.hook not in (None, hook.hook) or patient not in (None, hook.patient):
            return False
        return not self.order or any(
            all(matches_field(draft, path, expected) for path, expected in self.order.items())
            for draft in list_drafts(hook.context).values()
        )

    def describe_calls(self) -> str:
        """Return the selected calls in words."""
        return " ".join(["a call", *self._describe_conditions()])

    def _describe_conditions(self) -> Iterator[str]:
        if self.service is not None:
            yield f"of {self.service}"
        yield f"for {self.hook or 'a hook'}"
        if self.patient is not None:
            yield f"of patient {self.patient.removeprefix('Patient/')}"
        if self.order:
            conditions = ", ".join(f"{path} {describe_expected(expected)}" for path, expected in self.order.items())
            yield f"with an order where {conditions}"
