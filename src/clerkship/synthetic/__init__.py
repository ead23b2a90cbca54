"""Synthetic patients: a seeded generator of clinically plausible charts, around any now."""

from clerkship.synthetic.generator import GENERATOR, MOST, NOW, generate, lines
from clerkship.synthetic.lookalikes import LookAlike, look_alikes

__all__ = ["GENERATOR", "MOST", "NOW", "LookAlike", "generate", "lines", "look_alikes"]
