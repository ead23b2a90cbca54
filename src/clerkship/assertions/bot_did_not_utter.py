"""`bot_did_not_utter`: the agent did not say this in any conversation."""

from collections.abc import Sequence
from typing import Any, ClassVar

from clerkship.assertions.utterance_match import TEXTLESS_DIFFERENCE, UtteranceMatch
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine


class BotDidNotUtter(Assertion, UtteranceMatch):
    """The agent never said it: no utterance has all of the given properties."""

    name: ClassVar[str] = "bot_did_not_utter"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    engines: ClassVar[tuple[Engine, ...]] = ("calm", "mantle")
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference("several properties", "fails if one utterance has all of them", "fails if one has any of them"),
        Difference(
            "`buttons`",
            "fails if all of them are shown, alone or among others",
            "fails on any one of the buttons, in any place",
        ),
        TEXTLESS_DIFFERENCE,
    )

    def check(self, evidence: Evidence) -> Check:
        """Compare every utterance of the agent; on failure, show the first that matches."""
        utterances = self.find_utterances(evidence)
        enough = any if evidence.is_rasa_compatible else all
        for event in utterances:
            results = self.match_properties(event, rasa=evidence.is_rasa_compatible)
            if enough(results.values()):
                rows = [row.forbidden() for row in self.rows(event, results) if row.passed]
                return Check.of(False, f"the agent said it {evidence.when(event)}", *rows)
        silent = self.find_textless(utterances)
        if evidence.is_rasa_compatible and silent is not None:
            row = FieldCheck(path="text", expected="text", actual=None, passed=False, seq=silent.seq)
            where = evidence.when(silent)
            return Check.of(False, f"the utterance {where} has no text; with `compat: rasa` the run fails on it", row)
        return self._report_unsaid(utterances)

    def _report_unsaid(self, utterances: Sequence[Event]) -> Check:
        row = FieldCheck(path="utterances", expected="none like it", actual=f"{len(utterances)} others", passed=True)
        return Check.of(True, f"none of the agent's {len(utterances)} utterances{self.place_text} is like it", row)

    def matches_buttons(self, shown: Sequence[dict[str, Any]]) -> bool:
        """Return whether all forbidden buttons are shown. Other buttons beside them do not matter."""
        return all(any(button.matches(other) for other in shown) for button in self.buttons or ())

    def matches_buttons_as_rasa(self, shown: Sequence[dict[str, Any]]) -> bool:
        """Return whether any forbidden button is shown."""
        return any(button.matches_as_rasa(other) for button in self.buttons or () for other in shown)
