"""The steps that belong to no simulator, by name. The module of one is imported when a file names it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, cast

from clerkship.by_name import load
from clerkship.sandbox.faults.registry import FAULTS, MODEL_FAULTS, load_fault, load_model_fault

if TYPE_CHECKING:
    from clerkship.sandbox.steps.contract import Step


def _load_fault_step(name: str) -> "type[Step]":
    fault = load_model_fault(name) if name in MODEL_FAULTS else load_fault(name)
    return cast("type[Step]", load("clerkship.sandbox.steps.fault_step:build_fault_step")(fault))


STEPS: "Mapping[str, Callable[[], type[Step]]]" = {
    "clock.advance": partial(load, "clerkship.sandbox.steps.contract:ClockAdvance"),
    **{f"fault.{name}": partial(_load_fault_step, name) for name in FAULTS},
    **{name: partial(_load_fault_step, name) for name in MODEL_FAULTS},
}
"""What returns the class of each."""
