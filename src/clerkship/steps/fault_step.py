"""Every fault as a step: `fault.latency`, `fault.error` and so on."""

from typing import ClassVar, cast

from pydantic import create_model

from clerkship.faults.contract import Fault
from clerkship.steps.contract import Step, StepHost


class FaultStep(Step):
    """Injects a fault; its fields are those of the fault."""

    fault: ClassVar[type[Fault]]

    def run(self, host: StepHost) -> None:
        """Inject the fault."""
        host.inject(self.fault.model_validate(self.model_dump()))


def build_fault_step(fault: type[Fault]) -> type[FaultStep]:
    """Build the step that injects a fault."""
    fields = {name: (info.annotation, info) for name, info in fault.model_fields.items()}
    step = create_model(f"{fault.__name__}Step", __base__=FaultStep, __doc__=fault.__doc__, **fields)  # type: ignore[call-overload]
    step.name = f"fault.{fault.name}"
    step.fault = fault
    return cast(type[FaultStep], step)
