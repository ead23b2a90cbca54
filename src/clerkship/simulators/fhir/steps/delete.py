"""`fhir.delete`: delete a resource."""

from collections.abc import Collection
from typing import ClassVar

from clerkship.model.errors import InputError
from clerkship.sandbox.steps.contract import StepHost
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.steps.resource_step import ResourceStep
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import delete_resource


class FhirDelete(ResourceStep):
    """Deletes a resource. Its earlier versions remain."""

    name: ClassVar[str] = "fhir.delete"
    simulator: ClassVar[str | None] = "fhir"

    def list_resulting_records(self) -> tuple[Collection[str], Collection[str]]:
        return (), (self.key,)

    def run(self, host: StepHost) -> None:
        state, action = host.state(FhirState, self.sandbox)
        # A FHIR server accepts the deletion of an unknown resource; here the author most likely mistyped the id.
        if state.resource(self.key) is None:
            raise InputError.of(f"there is no {self.key} to delete")
        with Transaction(state, action) as transaction:
            delete_resource(transaction, self.key)
