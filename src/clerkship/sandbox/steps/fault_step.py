"""Every fault as a step: `fault.latency`, `fault.error` and so on; others begin with a simulator or `model`."""

from typing import ClassVar, Self, cast

from pydantic import ValidationError, create_model, model_validator

from clerkship.sandbox.faults.contract import AnyFault, EventFault, Fault
from clerkship.sandbox.steps.contract import Step, StepHost


class FaultStep(Step):
    """Injects a fault; its fields are those of the fault."""

    fault: ClassVar[type[AnyFault]]

    @model_validator(mode="after")
    def _check_fault(self) -> Self:
        """Check what the fault itself checks about several fields."""
        try:
            self.build_fault()
        except ValidationError as error:
            raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
        return self

    def run(self, host: StepHost) -> None:
        host.inject(self.build_fault())

    def build_fault(self) -> AnyFault:
        return self.fault.model_validate(self.model_dump())


def build_fault_step(fault: type[AnyFault]) -> type[FaultStep]:
    """Build the step that injects a fault."""
    fields = {name: (info.annotation, info) for name, info in fault.model_fields.items()}
    step = create_model(f"{fault.__name__}Step", __base__=FaultStep, __doc__=fault.__doc__, **fields)  # type: ignore[call-overload]
    step.name = f"fault.{fault.name}" if issubclass(fault, Fault) else fault.name
    step.simulator = fault.simulator if issubclass(fault, EventFault) else None
    step.fault = fault
    return cast(type[FaultStep], step)
