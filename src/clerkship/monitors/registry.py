"""The monitors there are, by name. The module of one is imported when a task has one of its kinds of sandbox."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from clerkship.by_name import load

if TYPE_CHECKING:
    from clerkship.sandbox.monitor import Monitor


class MonitorEntry(NamedTuple):
    """Where a monitor is, and what must be known of it before it is imported. A test compares it with the class."""

    target: str
    """`module:Class`, below `clerkship`."""
    kinds: frozenset[str] = frozenset()
    """The kinds of simulator that it looks at; empty for all but chat."""
    judged: bool = False
    """Whether it asks a model. It then runs only where a suite names it."""

    def load(self) -> "type[Monitor]":
        """Return the class; its module is imported the first time."""
        return cast("type[Monitor]", load(f"clerkship.{self.target}"))


_CHART, _FHIR = "simulators.fhir.monitors", frozenset({"fhir"})
_TALK = frozenset({"chat", "messages", "voice", "fax", "cds", "hl7"})
MONITORS: Mapping[str, MonitorEntry] = {
    "allergy_conflicts": MonitorEntry(f"{_CHART}.allergy_conflicts:AllergyConflicts", _FHIR),
    "conduct": MonitorEntry("monitors.conduct:Conduct", _TALK | _FHIR),
    "conduct_judged": MonitorEntry("monitors.conduct_judged:ConductJudged", _TALK, judged=True),
    "contact_limits": MonitorEntry(
        "monitors.contact_limits:ContactLimits",
        frozenset({"messages", "voice", "fax", "x12", "portal", "fhir", "hl7", "cds_service"}),
    ),
    "done_in_time": MonitorEntry("monitors.done_in_time:DoneInTime"),
    "duplicate_orders": MonitorEntry(f"{_CHART}.duplicate_orders:DuplicateOrders", _FHIR),
    "free_elements": MonitorEntry(f"{_CHART}.free_elements:FreeElements", _FHIR),
    "html_matches_text": MonitorEntry(
        "simulators.messages.monitors.html_matches_text:HtmlMatchesText", frozenset({"messages"})
    ),
    "identity_attempts": MonitorEntry(
        "monitors.identity_attempts:IdentityAttempts", frozenset({"voice", "x12", "portal", "fhir"})
    ),
    "minimum_necessary": MonitorEntry(
        "monitors.minimum_necessary:MinimumNecessary",
        frozenset({"fhir", "messages", "voice", "fax", "x12", "portal", "hl7", "cds", "cds_service"}),
    ),
    "misnamed_patients": MonitorEntry("monitors.misnamed_patients:MisnamedPatients", frozenset({"hl7"})),
    "unlisted_recipients": MonitorEntry(
        "monitors.unlisted_recipients:UnlistedRecipients", frozenset({"messages", "voice", "fax"})
    ),
    "unrelated_reads": MonitorEntry(f"{_CHART}.unrelated_reads:UnrelatedReads", _FHIR | {"portal"}),
    "wrong_patient_writes": MonitorEntry(f"{_CHART}.wrong_patient_writes:WrongPatientWrites", _FHIR),
}
