"""`bot_uttered`: the agent said something like this, on any conversation."""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from clerkship.assertions.contract import Assertion, Check, Difference, Engine
from clerkship.assertions.occurrence import Counted, listed, times
from clerkship.assertions.wording import NO_TEXT, Wording
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.model.matcher import describe
from clerkship.model.run import FieldCheck


class BotUttered(Assertion, Wording, Counted):
    """The agent said it at least once: all that is given holds of the same utterance."""

    name: ClassVar[str] = "bot_uttered"
    engines: ClassVar[tuple[Engine, ...]] = ("calm", "mantle")
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference("several properties", "all of the same utterance", "each of some utterance, perhaps of another"),
        Difference("more or fewer buttons than expected", "fails", "passes: compared up to the shorter list"),
        Difference("a button without `payload`", "its title alone is compared", "its payload must be null"),
        Difference(
            "other keys of a button", "compared where the author gives them", "refused by its schema; ignored here"
        ),
        NO_TEXT,
    )

    def check(self, evidence: Evidence) -> Check:
        """Compare every utterance of the agent; on failure show the nearest."""
        said = self.said(evidence)
        if self.count is not None:
            return self._often(evidence, [event for event in said if all(self.met(event).values())])
        if not said:
            rows = (FieldCheck(path=p, expected=e, actual="(none)", passed=False) for p, e in self.expected().items())
            return Check.of(False, f"the agent said nothing{self.where or ' at all'}", *rows)
        if evidence.as_rasa:
            return self._as_rasa(evidence, said)
        for event in said:
            met = self.met(event)
            if all(met.values()):
                return Check.of(True, f"the agent said it {evidence.when(event)}", *self.rows(event, met))
        close = self.nearest(said)
        words = f"the agent never said it{self.where}; nearest: {_quoted(close)} {evidence.when(close)}"
        return Check.of(False, words, *self.rows(close, self.met(close)))

    def _often(self, evidence: Evidence, hits: Sequence[Event]) -> Check:
        row = FieldCheck(path="count", expected=self.count, actual=len(hits), passed=self.enough(hits))
        said = f"said it {times(len(hits))}" if hits else "never said it"
        seen = f" ({listed(map(evidence.place, hits))})" if hits else ""
        return Check.of(row.passed, f"the agent {said}{self.where}{seen}; expected {describe(self.count)}", row)

    def _as_rasa(self, evidence: Evidence, said: Sequence[Event]) -> Check:
        """Each property by itself, of whatever utterance has it."""
        silent = self.textless(said)
        if silent is not None:
            expected = self.expected()["text"]
            row = FieldCheck(path="text", expected=expected, actual=None, passed=False, seq=silent.seq)
            where = evidence.when(silent)
            return Check.of(False, f"what the agent said {where} has no text, which breaks off the run under rasa", row)
        rows: list[FieldCheck] = []
        compared = [(event, self.met(event, rasa=True)) for event in said]
        for path in self.expected():
            hit = next((event for event, met in compared if met[path]), None)
            rows += self.rows(hit or self.nearest(said), {path: hit is not None})
        places = {event.seq: evidence.place(event) for event in said}
        found = {row.path: places[cast(int, row.seq)] for row in rows}
        missing = [f"{row.path}, nearest {found[row.path]}" for row in rows if not row.passed]
        if missing:
            return Check.of(False, f"the agent never said it{self.where}: {'; '.join(missing)}", *rows)
        return Check.of(True, f"the agent said it: {listed(f'{path} {place}' for path, place in found.items())}", *rows)

    def buttons_as_rasa(self, shown: Sequence[dict[str, Any]]) -> bool:
        """By position, up to the shorter list."""
        pairs = zip(self.buttons or (), shown, strict=False)
        return bool(shown) and all(button.is_rasa(other) for button, other in pairs)


def _quoted(event: Event) -> str:
    text = str(getattr(event.payload, "text", ""))
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
