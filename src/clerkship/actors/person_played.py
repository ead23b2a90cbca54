"""The voice of a person that a model plays: what it is shown, what it answers, and that it keeps to the role.

It is shown the conversation as it stands in the log. The agent's words come to it quoted, as data: an agent cannot give
the person orders. What it would have the person say goes by the rules of `person_contract` first; a line that breaks
one is never said.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby
from typing import Any, cast

from pydantic import BaseModel, JsonValue

from clerkship.actors.contract import OutOfRole, Speech, Unplayed
from clerkship.actors.person_contract import Bounds, Moment, Uttered, breach, stops_early
from clerkship.actors.person_patterns import Breach
from clerkship.events.event import Event, Utterance
from clerkship.events.ledger import quote_text, to_json
from clerkship.llm.contract import BadAnswer, EarlierMessage, NoModel, Question
from clerkship.llm.prompts import BUILT_IN, Prompts, RenderedPrompt, section
from clerkship.llm.trial_model import TrialModel
from clerkship.model.errors import ClerkshipError
from clerkship.model.frozen import Flag
from clerkship.model.scenario import ScenarioPerson

PROMPT = "person"
AGAIN = 2
"""How often a line that breaks a rule is asked for again."""
CUSTOM_LIMIT = 4_000
"""Characters of a payload that is not text."""
_OPENS = "The conversation starts."
_SILENT = "(nothing)"
_UNKNOWN = {"simulation_context": "", "persona": "", "knows": "", "name": ""}
"""A person of whom nothing is known, to see what else a template says."""


class Spoken(BaseModel):
    """What the model has the person do."""

    message: str
    done: Flag = False


class SpokenOrPressed(Spoken):
    """The same where there is something to press; a small model that is offered it always would press all the time."""

    press: str | None = None


@dataclass(frozen=True)
class Part:
    """Who is played: what their author says of them, and all that they may know."""

    person: ScenarioPerson
    given: str = ""
    """Whatever else counts as given to them: slots, the date."""
    approached: bool = False
    """Whether the agent comes to them, and not they to the agent."""

    def variables(self) -> dict[str, Any]:
        """For the template."""
        persona = self.person.resolved_persona
        return {
            "simulation_context": (self.person.simulation_context or "").strip(),
            "name": self.person.name if self.person.name != "person" else "",
            "persona": persona.description.strip() if persona is not None else "",
            "knows": to_json(persona.knows) if persona and persona.knows else "",
            "language": self.person.spoken_language,
            "min_turns": self.person.min_turns,
            "may_invent": self.may_invent,
            "approached": self.approached,
        }

    @property
    def may_invent(self) -> bool:
        """Whether they may make up facts."""
        persona = self.person.resolved_persona
        return self.person.may_invent or (persona is not None and persona.may_invent)

    def bounds(self, orders: str) -> Bounds:
        """What they are held to."""
        person, persona = self.person, self.person.resolved_persona
        written = person.model_dump(mode="json", exclude={"never_says", "min_turns", "end"})
        return Bounds(
            given="\n".join([*_texts(written), self.given]),
            orders=orders,
            never_says=(*person.never_says, *(persona.never_says if persona is not None else ())),
            may_invent=self.may_invent,
            may_help=self.approached,
            min_turns=person.min_turns,
        )


@dataclass(frozen=True)
class Progress:
    """How far a person with a script has come."""

    improvised: tuple[str, ...] | None = None
    """The texts of theirs that the model found; None where all of them are."""
    ends_by_script: bool = False
    """Whether the script decides when they leave; then `done` is not held against the model."""


ALL_IMPROVISED = Progress()
"""Of a person without a script."""


@dataclass
class Voice:
    """Finds the words of one person in one trial."""

    part: Part
    asker: TrialModel | None
    prompts: Prompts = BUILT_IN
    conversation: str = ""
    """The sandbox of the person, if there are several people: two who are asked the same are asked apart."""
    messages: Sequence[Event] = ()
    """The conversation, as it grows."""

    def improvise(self, hint: str = "", progress: Progress = ALL_IMPROVISED) -> Speech:
        """What they say next. One who says goodbye leaves once they are answered; one without a word leaves at once."""
        asked = Asked.of(self.messages, hint, approached=self.part.approached, progress=progress)
        broken: list[tuple[Spoken, Breach]] = []
        while len(broken) <= AGAIN:
            spoken = self._ask(asked, broken)
            speech = self._checked(spoken, asked, self._frame(asked, broken))
            if isinstance(speech, Speech):
                return speech
            broken.append((spoken, speech))
        spoken, last = broken[-1]
        return Speech(out_of_role=OutOfRole(last.rule, last.reason, spoken.message))

    def _checked(self, spoken: Spoken, asked: "Asked", frame: str) -> Speech | Breach:
        line = Uttered(spoken.message.strip(), spoken.done)
        title = spoken.press if isinstance(spoken, SpokenOrPressed) else None
        if title is not None and title.strip():
            button = asked.button(title)
            if button is None:
                return Breach(
                    "presses_nothing",
                    "there is no such button: press one that is shown, or say something",
                )
            early = next(stops_early(line, self.bounds, asked.moment), None)
            return early or pressed(button, last=spoken.done)
        wrong = breach(line, self.bounds, replace(asked.moment, frame=frame))
        if wrong is not None:
            return wrong
        return Speech(line.message, last=spoken.done) if line.message else Speech(leaves=True, reason="person_done")

    @cached_property
    def bounds(self) -> Bounds:
        """The rules that the person is held to."""
        context = (self.part.person.simulation_context or "").replace("\n", " ")
        parts = [part.strip() for part in re.split(r"[.!?:;]+", context)]
        addressed = [part for part in parts if part.lower().startswith(("you ", "your "))]
        plain = self._told({**self.part.variables(), **_UNKNOWN}, {})
        return self.part.bounds("\n".join([plain.orders, *addressed]))

    def _frame(self, asked: "Asked", broken: Sequence[tuple[Spoken, Breach]]) -> str:
        """What the model was told in this turn, without what a person may repeat: hint, refused line, agent's words."""
        turn = {
            "agent": "-" if asked.last else "",
            "first": not asked.talk,
            "broken": [{"said": "", "reason": wrong.reason} for _, wrong in broken],
        }
        return self._told({**self.part.variables(), **_UNKNOWN}, turn).matter

    def _ask(self, asked: "Asked", broken: Sequence[tuple[Spoken, Breach]]) -> Spoken:
        if self.asker is None:
            raise Unplayed("a model must play the person, and none is configured: give --person")
        turn = {"agent": asked.last, "first": not asked.talk, "hint": asked.hint}
        try:
            told = self._told(self.part.variables(), {**turn, "broken": [_retold(*pair) for pair in broken]})
            shape = SpokenOrPressed if asked.buttons else Spoken
            question = Question[Spoken](told.matter, shape, told.orders, PROMPT, asked.talk, self.conversation)
            return self.asker.ask(question).data
        except (BadAnswer, NoModel, ClerkshipError) as error:
            raise Unplayed(f"the person could not be played: {error}") from error

    def _told(self, who: Mapping[str, Any], turn: Mapping[str, Any]) -> RenderedPrompt:
        """A template of a user's own that has no blocks is all orders, as those of others are; the turn is ours."""
        now = {"agent": "", "first": True, "hint": "", "broken": [], **turn}
        told = self.prompts[PROMPT].fill(**who, **now)
        if not told.orders:
            told = RenderedPrompt(told.matter, BUILT_IN[PROMPT].fill(**who, **now).matter)
        caution = _caution()
        return told if caution in told.orders else RenderedPrompt(f"{told.orders}\n\n{caution}", told.matter)


@cache
def _caution() -> str:
    """That the agent's words are data: told to whoever plays the person, by whatever template."""
    return BUILT_IN["counterpart"].fill().matter


@dataclass(frozen=True)
class Asked:
    """The conversation as it is shown to whoever plays the person: what was said before, and what is to be answered."""

    talk: tuple[EarlierMessage, ...]
    last: str
    """What the agent said and showed since the person's last line."""
    hint: str
    moment: Moment
    buttons: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(
        cls, messages: Sequence[Event], hint: str = "", *, approached: bool = False, progress: Progress = ALL_IMPROVISED
    ) -> "Asked":
        """Everything so far."""
        sides = [(agents, list(part)) for agents, part in groupby(messages, lambda event: event.actor == "agent")]
        open_end = sides.pop()[1] if sides and sides[-1][0] else []
        said = [cast(Utterance, event.payload) for event in open_end]
        return cls(
            talk=tuple(_talk(sides)) if sides else (),
            last=_shown(open_end) if open_end else "",
            hint=hint,
            moment=Moment(
                heard=tuple(utterance.text for utterance in said),
                so_far="\n".join(_texts([_all(event) for event in messages])),
                answers=_answers([*sides, (True, open_end)] if open_end else sides, progress, approached=approached),
                may_leave=progress.ends_by_script,
                own=tuple(_own(event) for event in messages if event.actor != "agent"),
            ),
            buttons=tuple(button for utterance in said for button in utterance.buttons),
        )

    def button(self, title: str) -> Mapping[str, Any] | None:
        """The one they mean."""
        wanted = title.strip().casefold()
        return next((button for button in self.buttons if _title(button).strip().casefold() == wanted), None)


def pressed(button: Mapping[str, Any], *, last: bool = False) -> Speech:
    """What a channel sends for a button: its payload, or its title if it has none."""
    title = _title(button)
    return Speech(str(button.get("payload") or title), metadata={"pressed": title}, last=last)


def _title(button: Mapping[str, Any]) -> str:
    return str(button.get("title", ""))


def _talk(sides: Sequence[tuple[bool, list[Event]]]) -> Iterator[EarlierMessage]:
    """By turns, the agent's first: whoever plays the person answers."""
    if not sides[0][0]:
        yield EarlierMessage("user", _OPENS)
    for agents, events in sides:
        yield (
            EarlierMessage("user", _shown(events))
            if agents
            else EarlierMessage("assistant", "\n".join(map(_own, events)))
        )


def _own(event: Event) -> str:
    said = cast(Utterance, event.payload)
    title = (said.metadata or {}).get("pressed")
    return said.text if title is None else f"(presses {title!r})"


def _shown(events: Sequence[Event]) -> str:
    """What the agent said and showed, as data."""
    lines: list[str] = []
    for event in events:
        said = cast(Utterance, event.payload)
        if said.text:
            lines.append(quote_text(said.text))
        if said.buttons:
            lines.append(f"buttons: {', '.join(quote_text(_title(button)) for button in said.buttons)}")
        if said.custom is not None:
            lines.append(f"shows: {quote_text(to_json(said.custom), CUSTOM_LIMIT)}")
    return section("AGENT", "\n".join(lines) or _SILENT)


def _all(event: Event) -> JsonValue:
    said = cast(Utterance, event.payload)
    return [said.text, [dict(button) for button in said.buttons], said.custom]


def _answers(sides: Sequence[tuple[bool, list[Event]]], progress: Progress, *, approached: bool) -> int:
    """Count the agent's answers to lines that the model found.

    Answers to scripted lines do not count, nor does what the agent says before the first line, unless it came to them.
    """
    count = 0
    for number, (is_agent, _) in enumerate(sides):
        if is_agent and (_is_improvised(sides[number - 1][1], progress) if number else approached):
            count += 1
    return count


def _is_improvised(lines: Sequence[Event], progress: Progress) -> bool:
    improvised = progress.improvised
    return improvised is None or any(cast(Utterance, line.payload).text in improvised for line in lines)


def _texts(value: Any) -> Iterator[str]:
    """All that is text or number in there, each by itself."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _texts(key)
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _retold(spoken: Spoken, wrong: Breach) -> dict[str, str]:
    return {"said": quote_text(spoken.message, 500), "reason": wrong.reason}


NO_PERSON = "give --person, such as openai:gpt-5.1, or set CLERKSHIP_PERSON; or give them `lines`"
