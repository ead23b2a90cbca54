"""Evaluate one assertion on one run. Every exception of an assertion is caught here."""

from typing import Literal, NamedTuple

from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import RunStarted
from clerkship.kit.text import describe_error_with_location, render_traceback
from clerkship.llm.contract import BadAnswer, NoModel
from clerkship.model.agent_domain import event_family
from clerkship.model.errors import ClerkshipError
from clerkship.model.pattern import PatternTooSlow
from clerkship.sandbox.assertion import Assertion, Check


class Undecided(Exception):
    """None of the nested assertions passed, and at least one could not be checked."""

    def __init__(self, message: str, traceback: str) -> None:
        super().__init__(message)
        self.traceback = traceback


class AssertionOutcome(NamedTuple):
    """The outcome of an assertion. The check of an error has not passed, and its detail is the message."""

    status: Literal["judged", "error"]
    check: Check
    traceback: str = ""


def evaluate(assertion: Assertion, evidence: Evidence) -> AssertionOutcome:
    """Check an assertion, and return any exception as an outcome.

    One that no record can limit is not told which record the criterion is about.
    """
    if evidence.subject is not None and assertion.explain_unscoped():
        evidence = evidence.for_entity(None)
    try:
        check = assertion.check(evidence)
        if check.passed and assertion.reported_by:
            _require_reports(assertion, evidence)
        return AssertionOutcome("judged", check if check.passed else explain_unreported(assertion, check, evidence))
    except PatternTooSlow as slow:  # patterns are tested at load, so the agent's text is the cause
        return AssertionOutcome("judged", Check.of(False, f"{slow}; text that cannot be checked in time fails"))
    except Undecided as undecided:
        return AssertionOutcome("error", Check.of(False, str(undecided)), undecided.traceback)
    except (NoModel, BadAnswer, ClerkshipError) as error:  # these messages are written for reports
        return AssertionOutcome("error", Check.of(False, str(error)))
    except Exception as error:  # the error of one criterion must not affect the others
        return AssertionOutcome("error", Check.of(False, describe_error_with_location(error)), render_traceback(error))


class NothingReported(ClerkshipError):
    """The agent reports no events of the kind that must not have happened, so that nothing can be said about them."""


GUIDE = "`clerkship docs connect_an_agent`"


def explain_unreported(assertion: Assertion, check: Check, evidence: Evidence) -> Check:
    """Add to a failed check that the agent reported no event of a family that the assertion needs."""
    if check.passed or not (missing := find_unreported(assertion, evidence)):
        return check
    note = f"the agent reported no {' or '.join(missing)} in this run, and only reported events can be checked"
    return check._replace(detail=f"{check.detail}; {note}: see {GUIDE}")


def _require_reports(assertion: Assertion, evidence: Evidence) -> None:
    """Raise NothingReported if a pass means nothing, because the agent only speaks. Rasa passes it.

    An agent that names its responses reports what it does. A log without a run is one of `validate`, which asks what
    would pass if the agent did nothing.
    """
    for kind in assertion.reported_by:
        for event in evidence.of_kind(kind):
            if event.actor == "agent":
                return
    if evidence.is_rasa_compatible or not evidence.of_kind(RunStarted.kind):
        return
    if any(getattr(message.payload, "utter_name", None) for message in evidence.utterances):
        return  # only agents name their responses
    families = " or ".join(sorted(set(map(event_family, assertion.reported_by))))
    raise NothingReported(
        f"not judged: the agent reported no {families} in this run and names no response, so it is not known what it "
        f"set; only reported events can be checked: see {GUIDE}"
    )


def find_unreported(assertion: Assertion, evidence: Evidence) -> list[str]:
    """Return the event families that an assertion needs and of which the agent reported no event."""
    needed = [families for kinds in assertion.needs() if (families := {event_family(kind) for kind in kinds} - {""})]
    if not needed:
        return []
    reported = evidence.cached(_find_reported)
    return sorted({family for families in needed if families.isdisjoint(reported) for family in families})


def _find_reported(evidence: Evidence) -> frozenset[str]:
    """Return the event families that the agent reported, without those set by the scenario."""
    return frozenset(event_family(event.kind) for event in evidence.events if event.actor == "agent")
