"""The checks of the conformance suite, for the tests of a plug-in: call each with the `SPEC`."""

from clerkship.checks.conformance import CHECKS as CHECKS
from clerkship.checks.conformance import DOMAIN_CHECKS as DOMAIN_CHECKS
