"""`bot_did_not_utter`: the agent said nothing like this, on any conversation."""

from typing import ClassVar, cast

from clerkship.assertions.bot_uttered import Wording
from clerkship.assertions.contract import Assertion, Check
from clerkship.events.event import Utterance
from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck


class BotDidNotUtter(Assertion, Wording):
    """The agent did not say it, not once."""

    name: ClassVar[str] = "bot_did_not_utter"

    def check(self, evidence: Evidence) -> Check:
        """Compare every utterance of the agent; on failure show the first that is like it."""
        said = evidence.said_by("agent", self.sandbox)
        for event in said:
            checks = self.compare(event)
            if all(check.passed for check in checks):
                turn = cast(Utterance, event.payload).turn
                wrong = (check.forbidden() for check in checks)
                return Check.of(False, f"the agent said it in turn {turn} (#{event.seq})", *wrong)
        field = FieldCheck(path="utterances", expected="none like it", actual=f"{len(said)} others", passed=True)
        return Check.of(True, f"none of the agent's {len(said)} utterances is like it", field)
