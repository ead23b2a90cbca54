"""What every simulator and domain must do: run it on your spec with `check_simulator` or `check_domain`."""

from clerkship.conformance.checks import CHECKS, ConformanceReport, check_simulator
from clerkship.conformance.domain_checks import DOMAIN_CHECKS, check_domain

__all__ = ["CHECKS", "DOMAIN_CHECKS", "ConformanceReport", "check_domain", "check_simulator"]
