"""`bot_uttered`: the agent said this in some conversation."""

from collections.abc import Sequence
from typing import Any, ClassVar

from clerkship.assertions.occurrence import CountedScope
from clerkship.assertions.utterance_match import TEXTLESS_DIFFERENCE, UtteranceMatch
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine


class BotUttered(Assertion, UtteranceMatch, CountedScope):
    """The agent said it at least once: one utterance has all of the given properties."""

    name: ClassVar[str] = "bot_uttered"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    engines: ClassVar[tuple[Engine, ...]] = ("calm", "mantle")
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference("several properties", "all of the same utterance", "each of some utterance, perhaps of another"),
        Difference("more or fewer buttons than expected", "fails", "passes: compared up to the shorter list"),
        Difference("a button without `payload`", "its title alone is compared", "its payload must be null"),
        Difference(
            "other keys of a button", "compared where the author gives them", "refused by its schema; ignored here"
        ),
        TEXTLESS_DIFFERENCE,
    )

    def check(self, evidence: Evidence) -> Check:
        """Compare every utterance of the agent; on failure, show the nearest."""
        utterances = self.find_utterances(evidence)
        if self.count is not None:
            hits = [event for event in utterances if all(self.match_properties(event).values())]
            done, undone = f"the agent said it{self.place_text}", f"the agent never said it{self.place_text}"
            return self.check_count(self.describe_occurrences(evidence, hits, done, undone), hits)
        if not utterances:
            rows = (FieldCheck(path=p, expected=e, actual="(none)", passed=False) for p, e in self.expected().items())
            return Check.of(False, f"the agent said nothing{self.place_text or ' at all'}", *rows)
        if evidence.is_rasa_compatible:
            return self._check_as_rasa(evidence, utterances)
        for event in utterances:
            results = self.match_properties(event)
            if all(results.values()):
                return Check.of(True, f"the agent said it {evidence.when(event)}", *self.rows(event, results))
        nearest = self.find_nearest(utterances)
        words = f"the agent never said it{self.place_text}; nearest: {_quote(nearest)} {evidence.when(nearest)}"
        return Check.of(False, words, *self.rows(nearest, self.match_properties(nearest)))

    def _check_as_rasa(self, evidence: Evidence, utterances: Sequence[Event]) -> Check:
        """Check each property on its own: different utterances may have them."""
        silent = self.find_textless(utterances)
        if silent is not None:
            expected = self.expected()["text"]
            row = FieldCheck(path="text", expected=expected, actual=None, passed=False, seq=silent.seq)
            where = evidence.when(silent)
            return Check.of(False, f"the utterance {where} has no text; with `compat: rasa` the run fails on it", row)
        compared = [(event, self.match_properties(event, rasa=True)) for event in utterances]
        matches = {
            path: next((event for event, results in compared if results[path]), None) for path in self.expected()
        }
        nearest = self.find_nearest(utterances) if None in matches.values() else utterances[0]
        rows = [row for path, hit in matches.items() for row in self.rows(hit or nearest, {path: hit is not None})]
        words = [f"{path} {evidence.when(hit)}" for path, hit in matches.items() if hit is not None]
        missing = [path for path, hit in matches.items() if hit is None]
        if missing:
            never = f"the agent never said it{self.place_text}: no such {' and no such '.join(missing)}"
            return Check.of(False, f"{never}; nearest: {_quote(nearest)} {evidence.when(nearest)}", *rows)
        return Check.of(True, f"the agent said it: {', '.join(words)}", *rows)

    def matches_buttons_as_rasa(self, shown: Sequence[dict[str, Any]]) -> bool:
        """Compare buttons by position, up to the shorter list."""
        pairs = zip(self.buttons or (), shown, strict=False)
        return bool(shown) and all(button.matches_as_rasa(other) for button, other in pairs)


def _quote(event: Event) -> str:
    text = str(getattr(event.payload, "text", ""))
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
