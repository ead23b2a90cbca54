"""The conformance suite, for the tests of a plug-in: `check_simulator(SPEC)`, or each of `CHECKS` on its own."""

from clerkship.checks.conformance import CHECKS as CHECKS
from clerkship.checks.conformance import DOMAIN_CHECKS as DOMAIN_CHECKS
from clerkship.checks.conformance import check_domain as check_domain
from clerkship.checks.conformance import check_simulator as check_simulator
