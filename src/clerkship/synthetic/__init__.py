"""Synthetic patients: a seeded generator of clinically plausible records, relative to any current time."""

from clerkship.synthetic.generator import DEFAULT_NOW, GENERATOR_VERSION, MAX_PATIENTS, generate, generate_lines
from clerkship.synthetic.lookalikes import LookAlike, list_look_alikes

__all__ = [
    "GENERATOR_VERSION",
    "MAX_PATIENTS",
    "DEFAULT_NOW",
    "LookAlike",
    "generate",
    "generate_lines",
    "list_look_alikes",
]
