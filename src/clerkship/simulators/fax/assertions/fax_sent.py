"""`fax_sent`: the agent sent the expected fax and it was delivered, or the agent sent none."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.sandbox.assertion import Check
from clerkship.simulators.fax.assertions.fax_match import FaxMatch
from clerkship.simulators.fax.assertions.logged import list_sent_faxes
from clerkship.simulators.fax.assertions.page_search import narrow_faxes


class FaxWasSent(SelectionAssertion, FaxMatch):
    """The agent sent a fax like this, and it was delivered; or the number of such faxes is as expected. Without
    `status`, a fax that was busy, not answered, failed or partial does not count. One that was still under way at the
    end does not count as sent, but with `count` it must not be one too many. `none` allows no attempt, whatever became
    of it. `input_entity_id` selects faxes whose pages, labels or number are about that record.
    """

    name: ClassVar[str] = "fax_sent"
    simulator: ClassVar[str | None] = "fax"
    scoped: ClassVar[bool] = True

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each fax that the agent sent; the last row is its status."""
        limits = self.find_limits(evidence)
        default: Any = {"exists": True} if self.none else "delivered"
        faxes = list_sent_faxes(evidence, self.sandbox)
        for fax in narrow_faxes(evidence, faxes, forbids=self.passes_on_inaction):
            rows = (*self.compare_properties(fax, limits), self.compare_status(fax, default))
            yield Compared(f"fax of {fax.describe()}", rows, fax)

    def describe_selection(self, evidence: Evidence) -> str:
        return f"sent fax{self.describe_conditions()}"

    def list_undecided(self, compared: Sequence[Compared]) -> Sequence[Compared]:
        """Return the faxes under way that are as expected but for the status."""
        if self.status is not None or self.none:
            return ()
        return [each for each in compared if each.item.is_under_way and all(row.passed for row in each.rows[:-1])]

    def check_best(self, compared: Sequence[Compared], evidence: Evidence) -> Check:
        """Report the best fax. One that did not arrive is worth nothing, however right its properties are."""
        check = super().check_best(compared, evidence)
        has_arrived = next(row.passed for row in check.evidence if row.path == "status")
        return check if has_arrived else check._replace(score=0.0)

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield that the agent did not wait for the outcome of a fax, if only that is missing."""
        if any(self.list_undecided(compared)):
            yield "a fax like this was still under way at the end: the agent did not wait for the outcome"
