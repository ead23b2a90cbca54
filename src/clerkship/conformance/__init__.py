"""What every simulator must do, ours and anybody's: run it on your SPEC with `check_simulator`."""

from clerkship.conformance.checks import CHECKS, ConformanceReport, check_simulator

__all__ = ["CHECKS", "ConformanceReport", "check_simulator"]
