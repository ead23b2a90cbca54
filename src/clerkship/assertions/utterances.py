"""`bot_uttered` and `bot_did_not_utter`: the agent said something, or never said it."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, cast

from pydantic import ConfigDict, Field, model_validator

from clerkship.assertions.occurrence import MAX_NAMES, CountedScope, Name, NotEmpty, TurnScope
from clerkship.events.event import Event, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.query import to_evidence_value
from clerkship.model import pattern
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import equals
from clerkship.model.names import find_similar_name
from clerkship.model.pattern import Regex
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine

_WORD = re.compile(r"\w+")

TEXTLESS_DIFFERENCE = Difference(
    "an utterance without text, and `text_matches`",
    "its text is empty",
    "the run fails",
)


class Button(Frozen):
    """A button of an utterance. Other keys may be given, and are then compared too."""

    model_config = ConfigDict(extra="allow")
    title: Annotated[Name, Field(description="the label")]
    payload: Annotated[str | None, Field(description="the text it sends; any if not given")] = None

    @property
    def given_keys(self) -> dict[str, Any]:
        """The keys that the author gave."""
        return self.model_dump(exclude_unset=True)

    def matches(self, button: dict[str, Any]) -> bool:
        """Return whether a button has all given keys."""
        return all(equals(value, button.get(key)) for key, value in self.given_keys.items())

    def matches_as_rasa(self, button: dict[str, Any]) -> bool:
        """Return whether a button has this title and payload; no payload if none is given."""
        return bool(button.get("title") == self.title and button.get("payload") == self.payload)


class UtteranceMatch(TurnScope):
    """Properties that an utterance must have."""

    utter_name: Annotated[Name | None, Field(description="name of the response")] = None
    text_matches: Annotated[Regex | None, Field(description="regular expression found in the text")] = None
    buttons: Annotated[
        tuple[Button, ...] | None,
        NotEmpty,
        Field(description="all buttons, in order", json_schema_extra={"minItems": 1}),
    ] = None
    sandbox: Annotated[str | None, Field(description="which conversation; any if not given (ours)")] = None

    @model_validator(mode="after")
    def _check_not_empty(self) -> "UtteranceMatch":
        if self.utter_name is None and self.text_matches is None and self.buttons is None:
            raise ValueError("expected `utter_name`, `text_matches` or `buttons`")
        return self

    def find_utterances(self, evidence: Evidence) -> Sequence[Event]:
        """Return the agent's utterances in the selected turns and sandbox."""
        return self.select_turns(evidence, evidence.utterances_by("agent", self.sandbox))

    @property
    def place_text(self) -> str:
        """The selected turns and sandbox, as the end of a sentence."""
        return self.scope_text + (f" on {self.sandbox}" if self.sandbox is not None else "")

    def expected(self) -> dict[str, Any]:
        """Return the expected properties as evidence shows them."""
        properties: dict[str, Any] = {
            "utter_name": self.utter_name,
            "text": None if self.text_matches is None else {"matches": self.text_matches},
            "buttons": None if self.buttons is None else [button.given_keys for button in self.buttons],
        }
        return {path: value for path, value in properties.items() if value is not None}

    def match_properties(self, event: Event, *, rasa: bool = False) -> dict[str, bool]:
        """Return for each expected property whether an utterance has it."""
        utterance, results = cast(Utterance, event.payload), {}
        if self.utter_name is not None:
            results["utter_name"] = utterance.utter_name == self.utter_name
        if self.text_matches is not None:
            results["text"] = pattern.has_match(self.text_matches, utterance.text)
        if self.buttons is not None:
            results["buttons"] = (
                self.matches_buttons_as_rasa(utterance.buttons) if rasa else self.matches_buttons(utterance.buttons)
            )
        return results

    def matches_buttons(self, shown: Sequence[dict[str, Any]]) -> bool:
        """Return whether these are exactly the expected buttons."""
        expected = self.buttons or ()
        return len(expected) == len(shown) and all(map(Button.matches, expected, shown))

    @abstractmethod
    def matches_buttons_as_rasa(self, shown: Sequence[dict[str, Any]]) -> bool:
        """Return whether Rasa would accept these buttons."""

    def rows(self, event: Event, results: dict[str, bool]) -> list[FieldCheck]:
        """Return a row for each expected property."""
        expected = self.expected()
        return [
            FieldCheck(
                path=path,
                expected=expected[path],
                actual=to_evidence_value(getattr(event.payload, path)),
                passed=passed,
                seq=event.seq,
            )
            for path, passed in results.items()
        ]

    def find_textless(self, utterances: Sequence[Event]) -> Event | None:
        """Return the first utterance with content but no text, on which Rasa would fail."""
        if self.text_matches is None:
            return None
        return next((event for event in utterances if _has_no_text(cast(Utterance, event.payload))), None)

    def find_nearest(self, utterances: Sequence[Event]) -> Event:
        """Return the utterance with the most expected properties; if several, the most similar one."""
        names = {str(name) for event in utterances if (name := cast(Utterance, event.payload).utter_name)}
        like = find_similar_name(self.utter_name, sorted(names)[:MAX_NAMES]) if self.utter_name is not None else None
        words = {word.lower() for word in _WORD.findall(self.text_matches or "")}

        def nearness(event: Event) -> tuple[int, int]:
            utterance = cast(Utterance, event.payload)
            shared = len(words & {word.lower() for word in _WORD.findall(utterance.text)}) if words else 0
            titles = [button.get("title") for button in utterance.buttons]
            shared += sum(button.title in titles for button in self.buttons or ())
            return sum(self.match_properties(event).values()), shared + (
                like is not None and utterance.utter_name == like
            )

        return max(utterances, key=nearness)


def _has_no_text(utterance: Utterance) -> bool:
    return not utterance.text and (utterance.custom is not None or bool(utterance.buttons))


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
