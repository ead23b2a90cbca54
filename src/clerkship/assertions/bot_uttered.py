"""`bot_uttered`: the agent said something like this, on any conversation."""

from typing import Annotated, Any, ClassVar, cast

from pydantic import Field, model_validator

from clerkship.assertions.contract import Assertion, Check
from clerkship.events.event import Event, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.query import shown
from clerkship.model import pattern
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import equals
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Regex


class Wording(Frozen):
    """What an utterance must be like: all that is given must hold of the same one."""

    utter_name: Annotated[str | None, Field(description="name of the response")] = None
    text_matches: Annotated[Regex | None, Field(description="regular expression found in the text")] = None
    buttons: Annotated[tuple[dict[str, Any], ...] | None, Field(min_length=1, description="the whole list")] = None
    sandbox: Annotated[str | None, Field(description="which conversation; any if not given")] = None

    @model_validator(mode="after")
    def _something(self) -> "Wording":
        if self.utter_name is None and self.text_matches is None and self.buttons is None:
            raise ValueError("expected `utter_name`, `text_matches` or `buttons`")
        return self

    def compare(self, event: Event) -> tuple[FieldCheck, ...]:
        """Each expectation beside what this utterance is."""
        said = cast(Utterance, event.payload)
        checks: list[tuple[str, Any, Any, bool]] = []
        if self.utter_name is not None:
            checks.append(("utter_name", self.utter_name, said.utter_name, said.utter_name == self.utter_name))
        if self.text_matches is not None:
            hit = pattern.found(self.text_matches, said.text)
            checks.append(("text", {"matches": self.text_matches}, said.text, hit))
        if self.buttons is not None:
            checks.append(("buttons", list(self.buttons), list(said.buttons), equals(self.buttons, said.buttons)))
        return tuple(
            FieldCheck(path=path, expected=expected, actual=shown(actual), passed=passed, seq=event.seq)
            for path, expected, actual, passed in checks
        )


class BotUttered(Assertion, Wording):
    """The agent said it at least once."""

    name: ClassVar[str] = "bot_uttered"

    def check(self, evidence: Evidence) -> Check:
        """Compare every utterance of the agent; on failure show the nearest."""
        compared = [(event, self.compare(event)) for event in evidence.said_by("agent", self.sandbox)]
        for event, checks in compared:
            if all(check.passed for check in checks):
                turn = cast(Utterance, event.payload).turn
                return Check.of(True, f"the agent said it in turn {turn} (#{event.seq})", *checks)
        if not compared:
            asked = self.model_dump(exclude_none=True, exclude={"sandbox"})
            rows = (FieldCheck(path=name, expected=want, actual="(none)", passed=False) for name, want in asked.items())
            where = f" on {self.sandbox}" if self.sandbox is not None else " at all"
            return Check.of(False, f"the agent said nothing{where}", *rows)
        event, checks = max(compared, key=lambda pair: sum(check.passed for check in pair[1]))
        turn = cast(Utterance, event.payload).turn
        return Check.of(False, f"the agent never said it; shown is turn {turn} (#{event.seq})", *checks)
