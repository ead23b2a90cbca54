"""A person that a model plays: its prompt, its answers, and the check that it keeps to its role.

The model sees the conversation as it is in the log. The agent's words are quoted as data, so that an agent cannot
give
the person instructions. Every line is checked by the rules of `person_contract`; a line that breaks one is not sent.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby
from typing import Any, cast

import orjson
from pydantic import BaseModel, JsonValue

from clerkship.actors.contract import ContractBreach, PersonAction, PersonTools, PersonUnavailable
from clerkship.actors.person_contract import (
    LineContext,
    PersonLimits,
    PersonLine,
    check_early_end,
    find_breach,
    find_made_up_facts,
)
from clerkship.actors.person_labels import SpokenLine
from clerkship.actors.person_patterns import Breach, ends_with_closing, is_closing
from clerkship.actors.person_scripted import ScriptProgress, button_title, press_button
from clerkship.events.event import Event, Utterance, is_by_agent
from clerkship.events.ledger import quote_text, to_json
from clerkship.events.lifecycle import PersonUsedTool
from clerkship.llm.contract import BadAnswer, EarlierMessage, NoModel, Question
from clerkship.llm.prompts import BUILT_IN, Prompts, RenderedPrompt, section
from clerkship.llm.trial_model import TrialModel
from clerkship.model.errors import ClerkshipError
from clerkship.model.frozen import Flag
from clerkship.model.scenario import ScenarioPerson

PROMPT = "person"
MAX_CORRECTIONS = 2
"""How often the model may correct a line that breaks a rule."""
MAX_CUSTOM_LENGTH = 4_000
"""Characters of a custom payload."""
MAX_TOOL_USES = 30
"""How often a model may use tools before it says something."""
TOOLS_PROMPT = "person_tools"
UNREADABLE = "not a JSON object"
"""The name under which arguments are passed on that are not a JSON object; no tool has such an argument."""
_OPENING = "The conversation starts."
_EMPTY_MESSAGE = "(nothing)"
_UNKNOWN = {"simulation_context": "", "persona": "", "knows": "", "name": ""}
"""Empty variables, to find the text of a template itself."""


class PersonAnswer(BaseModel):
    """The model's answer: the person's next line, and whether they leave."""

    message: str
    done: Flag = False


class PersonAnswerWithButton(PersonAnswer):
    """The answer if the agent shows buttons. Small models that are always offered `press` would use it all the time."""

    press: str | None = None


class PersonAnswerWithTool(PersonAnswer):
    """The answer of a person with tools: the line, or the tool to use first."""

    use: str | None = None
    arguments: str = ""


class PersonAnswerWithToolAndButton(PersonAnswerWithTool, PersonAnswerWithButton):
    """The answer of a person with tools, if the agent shows buttons."""


@dataclass(frozen=True)
class PlayedRole:
    """The person to play: what the author says about them, and everything they may know."""

    person: ScenarioPerson
    given: str = ""
    """Other facts that they know: slots, the date."""
    approached: bool = False
    """Whether the agent contacts them."""

    def variables(self) -> dict[str, Any]:
        """Return the variables of the template."""
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
        """Whether the person may make up facts."""
        return self.person.may_make_up_facts

    def bounds(self, orders: str) -> PersonLimits:
        """Return the limits on what the person may say."""
        person, persona = self.person, self.person.resolved_persona
        written = person.model_dump(mode="json", exclude={"never_says", "min_turns", "end", "facts"})
        return PersonLimits(
            given="\n".join([*_collect_texts(written), self.given]),
            orders=orders,
            never_says=(*person.never_says, *(persona.never_says if persona is not None else ())),
            may_invent=self.may_invent,
            may_help=self.approached,
            min_turns=person.min_turns,
        )


NO_SCRIPT = ScriptProgress()
"""The progress of a person without a script."""


@dataclass
class Improviser:
    """Finds the words of one person in one trial."""

    part: PlayedRole
    asker: TrialModel | None
    prompts: Prompts = BUILT_IN
    conversation: str = ""
    """The sandbox of the person, if there are several people, so that equal questions are asked separately."""
    messages: Sequence[Event] = ()
    """The messages of the conversation; grows during the trial."""
    tools: PersonTools | None = None
    """The tools that the person may use."""

    def improvise(self, hint: str = "", progress: ScriptProgress = NO_SCRIPT) -> PersonAction:
        """Return the next action. A person who says goodbye leaves after the reply; one with nothing to say leaves at
        once.
        """
        prompt = self._build_prompt(hint, progress)
        broken: list[tuple[PersonAnswer, Breach]] = []
        while len(broken) <= MAX_CORRECTIONS:
            spoken = self._ask(prompt, broken)
            if isinstance(spoken, PersonAnswerWithTool) and spoken.use and len(prompt.used) < MAX_TOOL_USES:
                self._use_tool(spoken.use, spoken.arguments)
                prompt, broken = self._build_prompt(hint, progress), []
                continue
            speech = self._checked(spoken, prompt, self._frame(prompt, broken))
            if isinstance(speech, PersonAction):
                return speech
            broken.append((spoken, speech))
        spoken, last = broken[-1]
        return PersonAction(out_of_role=ContractBreach(last.rule, last.reason, spoken.message))

    def _build_prompt(self, hint: str, progress: ScriptProgress) -> "PersonPrompt":
        uses = self.tools.uses if self.tools is not None else ()
        return PersonPrompt.of(self.messages, hint, approached=self.part.approached, progress=progress, uses=uses)

    def _use_tool(self, name: str, written: str) -> None:
        """Use a tool with arguments as the model wrote them. What cannot be read is shown to be refused."""
        assert self.tools is not None  # only then is the model offered tools
        try:
            arguments = orjson.loads(written or "{}")
        except orjson.JSONDecodeError:
            arguments = None
        self.tools.use(name, arguments if isinstance(arguments, dict) else {UNREADABLE: written[:MAX_CUSTOM_LENGTH]})

    def _checked(self, spoken: PersonAnswer, prompt: "PersonPrompt", frame: str) -> PersonAction | Breach:
        line = PersonLine(spoken.message.strip(), spoken.done)
        title = spoken.press if isinstance(spoken, PersonAnswerWithButton) else None
        if title is not None and title.strip():
            button = prompt.button(title)
            if button is None:
                return Breach(
                    "presses_nothing",
                    "there is no such button: press one that is shown, or say something",
                )
            early = next(check_early_end(line, self.bounds, prompt.moment), None)
            return early or press_button(button, last=spoken.done)
        wrong = find_breach(line, self.bounds, replace(prompt.moment, frame=frame))
        if wrong is not None:
            return wrong
        if not line.message:
            return PersonAction(leaves=True, reason="person_done")
        made_up = find_made_up_facts(line.message, self.bounds, prompt.moment)
        is_last = spoken.done or self._is_goodbye(line, prompt.moment)
        return PersonAction(line.message, last=is_last, made_up=made_up)

    def _is_goodbye(self, line: PersonLine, moment: LineContext) -> bool:
        """Return whether both sides only close the conversation, which some models never end with `done`."""
        early = any(check_early_end(line._replace(done=True), self.bounds, moment))
        closes = bool(moment.heard) and ends_with_closing(moment.heard[-1])
        return closes and not early and is_closing(line.message, "person")

    @cached_property
    def bounds(self) -> PersonLimits:
        """The limits on what the person may say."""
        context = (self.part.person.simulation_context or "").replace("\n", " ")
        parts = [part.strip() for part in re.split(r"[.!?:;]+", context)]
        addressed = [part for part in parts if part.lower().startswith(("you ", "your "))]
        plain = self._render_prompt({**self.part.variables(), **_UNKNOWN}, {})
        return self.part.bounds("\n".join([plain.instructions, *addressed]))

    def _frame(self, prompt: "PersonPrompt", broken: Sequence[tuple[PersonAnswer, Breach]]) -> str:
        """Return this turn's request without the parts that the person may repeat, such as the agent's words."""
        turn = {
            "agent": "-" if prompt.last else "",
            "first": not prompt.talk,
            "broken": [{"said": "", "reason": wrong.reason} for _, wrong in broken],
        }
        return self._render_prompt({**self.part.variables(), **_UNKNOWN}, turn).content

    def _ask(self, prompt: "PersonPrompt", broken: Sequence[tuple[PersonAnswer, Breach]]) -> PersonAnswer:
        if self.asker is None:
            raise PersonUnavailable("a model must play the person, and none is configured; add --person")
        turn = {"agent": prompt.last, "first": not prompt.talk, "hint": prompt.hint}
        try:
            rendered = self._render_prompt(
                self.part.variables(), {**turn, "broken": [_describe_refused_line(*pair) for pair in broken]}
            )
            if self.tools is not None:
                rendered = self._add_tools(rendered, prompt.used)
            shape = _SHAPES[self.tools is not None, bool(prompt.buttons)]
            question = Question[PersonAnswer](
                rendered.content, shape, rendered.instructions, PROMPT, prompt.talk, self.conversation
            )
            return self.asker.ask(question).data
        except (BadAnswer, NoModel, ClerkshipError) as error:
            raise PersonUnavailable(f"the person could not be played: {error}") from error

    def _add_tools(self, rendered: RenderedPrompt, used: Sequence[Event]) -> RenderedPrompt:
        """Add what the person can do, and what they have done in this turn."""
        assert self.tools is not None
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": to_json(tool.schema["properties"])}
            for tool in self.tools.definitions
        ]
        added = BUILT_IN[TOOLS_PROMPT].fill(tools=tools, used=[_describe_use(event) for event in used])
        content = "\n\n".join(filter(None, (rendered.content, added.content)))
        return RenderedPrompt(f"{rendered.instructions}\n\n{added.instructions}", content)

    def _render_prompt(self, who: Mapping[str, Any], turn: Mapping[str, Any]) -> RenderedPrompt:
        """Render the prompt. A user's template without blocks replaces only the instructions."""
        now = {"agent": "", "first": True, "hint": "", "broken": [], **turn}
        rendered = self.prompts[PROMPT].fill(**who, **now)
        if not rendered.instructions:
            rendered = RenderedPrompt(rendered.content, BUILT_IN[PROMPT].fill(**who, **now).content)
        caution = _read_caution()
        return (
            rendered
            if caution in rendered.instructions
            else RenderedPrompt(f"{rendered.instructions}\n\n{caution}", rendered.content)
        )


_SHAPES: Mapping[tuple[bool, bool], type[PersonAnswer]] = {
    (False, False): PersonAnswer,
    (False, True): PersonAnswerWithButton,
    (True, False): PersonAnswerWithTool,
    (True, True): PersonAnswerWithToolAndButton,
}
"""The shape of the answer: with tools or without, with buttons or without."""


@cache
def _read_caution() -> str:
    """Return the warning that the agent's words are data; it is part of the prompt with every template."""
    return BUILT_IN["counterpart"].fill().content


@dataclass(frozen=True)
class PersonPrompt:
    """What the model is asked in one turn."""

    talk: tuple[EarlierMessage, ...]
    last: str
    """What the agent said and showed since the person's last line."""
    hint: str
    moment: LineContext
    buttons: tuple[Mapping[str, Any], ...]
    used: Sequence[Event] = ()
    """The tools that the person used since their last line."""

    @classmethod
    def of(
        cls,
        messages: Sequence[Event],
        hint: str = "",
        *,
        approached: bool = False,
        progress: ScriptProgress = NO_SCRIPT,
        uses: Sequence[Event] = (),
    ) -> "PersonPrompt":
        """Build the prompt from the messages so far, and the tools that were used."""
        sides = [(agents, list(part)) for agents, part in groupby(messages, is_by_agent)]
        open_end = sides.pop()[1] if sides and sides[-1][0] else []
        utterances = [cast(Utterance, event.payload) for event in open_end]
        own = [event for event in messages if not is_by_agent(event)]
        before = [use for use in uses if own and use.seq < own[-1].seq]
        return cls(
            talk=tuple(_build_conversation(sides, before)) if sides else (),
            last=_render_agent_messages(open_end) if open_end else "",
            hint=hint,
            moment=LineContext(
                heard=tuple(utterance.text for utterance in utterances),
                so_far="\n".join(
                    _collect_texts([*map(_message_content, messages), *(_use_content(event) for event in uses)])
                ),
                answers=_count_answers(
                    [*sides, (True, open_end)] if open_end else sides, progress, approached=approached
                ),
                may_leave=progress.ends_by_script,
                own=tuple(map(_render_person_message, own)),
                statements=tuple(_collect_statements(sides)),
            ),
            buttons=tuple(button for utterance in utterances for button in utterance.buttons),
            used=uses[len(before) :],
        )

    def button(self, title: str) -> Mapping[str, Any] | None:
        """Return the button with a title; None if there is none."""
        wanted = title.strip().casefold()
        return next((button for button in self.buttons if button_title(button).strip().casefold() == wanted), None)


def _build_conversation(
    sides: Sequence[tuple[bool, list[Event]]], uses: Sequence[Event] = ()
) -> Iterator[EarlierMessage]:
    """Yield the messages in turns, the agent's first: the model answers as the person.

    The tools that the person used before a message are told with what the agent said before it.
    """
    waiting, told = list(uses), "" if sides[0][0] else _OPENING
    for agents, events in sides:
        if agents:
            told = _render_agent_messages(events)
            continue
        used = [use for use in waiting if use.seq < events[-1].seq]
        waiting = waiting[len(used) :]
        shown = BUILT_IN[TOOLS_PROMPT].fill(tools=(), used=list(map(_describe_use, used))).content if used else ""
        yield EarlierMessage("user", "\n\n".join(filter(None, (told, shown))))
        yield EarlierMessage("assistant", _render_past_answer(events))
        told = ""
    if told:
        yield EarlierMessage("user", told)


def _use_content(event: Event) -> JsonValue:
    used = cast(PersonUsedTool, event.payload)
    return [dict(used.arguments), used.result]


def _describe_use(event: Event) -> dict[str, str]:
    """Return the use of a tool, quoted: what a tool shows is data."""
    used = cast(PersonUsedTool, event.payload)
    return {
        "name": used.tool,
        "arguments": to_json(used.arguments),
        "result": f"{'refused: ' if used.is_refused else ''}{quote_text(used.result, MAX_CUSTOM_LENGTH)}",
    }


def _render_past_answer(events: Sequence[Event]) -> str:
    """Return the person's messages in the form that the model answers with: small models repeat the form they see."""
    pressed = [(cast(Utterance, event.payload).metadata or {}).get("pressed") for event in events]
    spoken = [event for event, title in zip(events, pressed, strict=True) if title is None]
    message = "\n".join(map(_render_person_message, spoken))
    titles = [str(title) for title in pressed if title is not None]
    answer = PersonAnswerWithButton(message=message, press=titles[-1]) if titles else PersonAnswer(message=message)
    return answer.model_dump_json()


def _collect_statements(sides: Sequence[tuple[bool, list[Event]]]) -> Iterator[SpokenLine]:
    """Yield the person's lines, each with what the agent said before it."""
    question = ""
    for is_agent, events in sides:
        texts = [cast(Utterance, event.payload).text for event in events]
        if is_agent:
            question = "\n".join(texts)
        else:
            yield from (SpokenLine(question, text) for text in texts)


def _render_person_message(event: Event) -> str:
    utterance = cast(Utterance, event.payload)
    title = (utterance.metadata or {}).get("pressed")
    return utterance.text if title is None else f"(presses {title!r})"


def _render_agent_messages(events: Sequence[Event]) -> str:
    """Return what the agent said and showed, as data."""
    lines: list[str] = []
    for event in events:
        utterance = cast(Utterance, event.payload)
        if utterance.text:
            lines.append(quote_text(utterance.text))
        if utterance.buttons:
            lines.append(f"buttons: {', '.join(quote_text(button_title(button)) for button in utterance.buttons)}")
        if utterance.custom is not None:
            lines.append(f"shows: {quote_text(to_json(utterance.custom), MAX_CUSTOM_LENGTH)}")
    return section("AGENT", "\n".join(lines) or _EMPTY_MESSAGE)


def _message_content(event: Event) -> JsonValue:
    utterance = cast(Utterance, event.payload)
    return [utterance.text, [dict(button) for button in utterance.buttons], utterance.custom]


def _count_answers(sides: Sequence[tuple[bool, list[Event]]], progress: ScriptProgress, *, approached: bool) -> int:
    """Count the agent's replies to improvised lines.

    Replies to scripted lines do not count, nor does what the agent says before the first line, unless it contacts the
    person, who may greet it first.
    """
    count, is_first = 0, True
    for number, (is_agent, _) in enumerate(sides):
        if not is_agent:
            continue
        if (is_first and approached) or (number and _is_improvised(sides[number - 1][1], progress)):
            count += 1
        is_first = False
    return count


def _is_improvised(lines: Sequence[Event], progress: ScriptProgress) -> bool:
    improvised = progress.improvised
    return improvised is None or any(cast(Utterance, line.payload).text in improvised for line in lines)


def _collect_texts(value: Any) -> Iterator[str]:
    """Yield every text and number in plain data."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _collect_texts(key)
            yield from _collect_texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _collect_texts(part)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _describe_refused_line(spoken: PersonAnswer, wrong: Breach) -> dict[str, str]:
    return {"said": quote_text(spoken.message, 500), "reason": wrong.reason}
