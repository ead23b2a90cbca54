"""`fhir_was_read`: the agent read a resource that it needed."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Check
from clerkship.simulators.fhir.assertions.read_assertion import ReadAssertion, list_keys


class FhirWasRead(ReadAssertion):
    """The agent received such a resource: from a read, a search, a history or `$everything`. `input_entity_id` limits
    the check to that record and resources that refer to it.
    """

    name: ClassVar[str] = "fhir_was_read"
    shorthand: ClassVar[str | None] = "resource_type"
    count: Annotated[
        CountExpectation | None, Field(description="number of different resources; at least one if not given")
    ] = None

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return allows_zero(self.count)

    def check(self, evidence: Evidence) -> Check:
        """Look for such reads in the log."""
        reads, expected = list(self.find_matching(evidence)), self.count if self.count is not None else {"gte": 1}
        number = len({read.key for read in reads})
        passed, description = matches_expected(expected, number), self.describe(evidence)
        seq = reads[0].event.seq if reads else None
        row = FieldCheck(path="read", expected=expected, actual=number, passed=passed, seq=seq)
        expectation = f" (expected {describe_expected(expected)})" if self.count is not None else ""
        if reads:
            first = f", first {evidence.when(reads[0].event)}" if passed else ""
            return Check.of(passed, f"the agent read {list_keys(reads)}{first}: {description}{expectation}", row)
        all_reads = self.find_all_shown(evidence)
        instead = f"; it read {list_keys(all_reads)}" if all_reads else "; it read nothing"
        return Check.of(passed, f"the agent read no {description}{expectation}{instead}", row)
