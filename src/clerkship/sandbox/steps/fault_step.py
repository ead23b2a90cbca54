"""Every fault as a step: `fault.latency`, `fault.error` and so on; those of a simulator begin with its kind."""

from typing import ClassVar, Self, cast

from pydantic import ValidationError, create_model, model_validator

from clerkship.sandbox.faults.contract import EventFault, Fault
from clerkship.sandbox.steps.contract import Step, StepHost


class FaultStep(Step):
    """Injects a fault; its fields are those of the fault."""

    fault: ClassVar[type[Fault | EventFault]]

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

    def build_fault(self) -> Fault | EventFault:
        return self.fault.model_validate(self.model_dump())


def build_fault_step(fault: type[Fault | EventFault]) -> type[FaultStep]:
    """Build the step that injects a fault."""
    fields = {name: (info.annotation, info) for name, info in fault.model_fields.items()}
    step = create_model(f"{fault.__name__}Step", __base__=FaultStep, __doc__=fault.__doc__, **fields)  # type: ignore[call-overload]
    step.name = fault.name if issubclass(fault, EventFault) else f"fault.{fault.name}"
    step.simulator = fault.simulator if issubclass(fault, EventFault) else None
    step.fault = fault
    return cast(type[FaultStep], step)
