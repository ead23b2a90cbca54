"""The conformance suite for simulators and domains: call `check_simulator` or `check_domain` with your spec."""

from clerkship.checks.conformance.checks import CHECKS, ConformanceReport, check_simulator
from clerkship.checks.conformance.domain_checks import DOMAIN_CHECKS, check_domain

__all__ = ["CHECKS", "DOMAIN_CHECKS", "ConformanceReport", "check_domain", "check_simulator"]
