"""The steps that belong to no simulator."""

from clerkship.faults.registry import FAULTS
from clerkship.steps.clock_advance import ClockAdvance
from clerkship.steps.contract import Step
from clerkship.steps.fault_step import build_fault_step

STEPS: tuple[type[Step], ...] = (ClockAdvance, *map(build_fault_step, FAULTS))
