"""A person with a script: rules in order, lines, a fallback and an end. Deterministic, without a model.

Where the script says `improvise`, a model finds the words. A person without a script improvises throughout.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from clerkship.actors.contract import (
    AgentReply,
    PastPersonTurn,
    PersonAction,
    PersonStep,
    PersonTools,
    SimulatedPerson,
)
from clerkship.by_name import load
from clerkship.events.event import Event, PauseEnded, Utterance, is_by_agent
from clerkship.events.lifecycle import PersonUsedTool
from clerkship.events.query import matches
from clerkship.model.pattern import PatternTooSlow, has_match_in_time
from clerkship.model.scenario import EventMatch, Improvisation, PersonToolUse, ScenarioPerson, ScriptLine, ScriptRule

if TYPE_CHECKING:
    from clerkship.sandbox.person_tools import PersonTool

NextAction = Callable[[], PersonAction | None]
_LEAVE = PersonAction(leaves=True, reason="person_done")
_IMPROVISE = Improvisation(improvise=True)
RESULT = "{result}"
"""Stands in a line for what the tool shows that the person uses before it."""


@dataclass(frozen=True)
class ScriptProgress:
    """The progress of a person with a script."""

    improvised: tuple[str, ...] | None = None
    """Their improvised lines; None if all lines are."""
    ends_by_script: bool = False
    """Whether the script decides when they leave; `done` is then ignored."""


class LineSource(Protocol):
    """Finds the words of one person: a model, or the recording of an earlier conversation."""

    messages: Sequence[Event]
    """The messages of the conversation; grows during the trial."""
    tools: PersonTools | None
    """The tools that the person may use."""

    def improvise(self, hint: str = ..., progress: ScriptProgress = ...) -> PersonAction:
        """Return the next action."""


class ScriptedPerson:
    """One person, following their script."""

    def __init__(self, script: ScenarioPerson, voice: LineSource | None = None) -> None:
        self.name = script.name
        self.subject, self.answers_after = script.subject, script.answers_after
        self.greeting = script.opening if isinstance(script.opening, str) else None
        self._script = script
        self._voice = voice
        self.uses_model = voice is not None
        self._opening, self._fallback = script.opening, script.fallback
        if voice is not None and script.is_played:
            self._opening = self._fallback = _IMPROVISE
        self._uses = [0] * len(script.script)
        self._said = 0
        self._improvised: list[str] = []
        """Their improvised lines."""
        self._next_line = 0
        self.tools = script.tools
        self._tools: PersonTools | None = None
        self._used: list[PersonToolUse] = []
        """The tools that they used as the script says, in order."""
        self.leaving = False
        """Whether they have said goodbye and only wait for the reply."""
        self._messages: Sequence[Event] = ()
        self.watches = EventMatch in (type(script.end.when), *[type(rule.when) for rule in script.script])

    def join(self, messages: Sequence[Event]) -> None:
        """Join the conversation."""
        self._messages = messages
        if self._voice is not None:
            self._voice.messages = messages

    def take_tools(self, tools: PersonTools) -> None:
        """Take the tools that they may use."""
        self._tools = tools
        if self._voice is not None:
            self._voice.tools = tools

    def open(self) -> PersonAction | None:
        """Return the first line, if the person starts."""
        if self._opening is not None:
            return self._speak(self._opening, self._interrupting())
        return self._go_on()

    def hear(self, reply: AgentReply) -> PersonAction:
        """Respond by the end rule, the first matching rule, the next line, or the fallback; otherwise leave."""
        if self.leaving:
            return _LEAVE
        end = self._script.end
        enough = end.after is not None and self._said >= end.after
        if enough or (isinstance(end.when, str) and has_match_in_time(end.when, reply.text)):
            return PersonAction(end.say, leaves=True, reason="person_done")
        missed = ""
        for number, rule in enumerate(self._script.script):
            if isinstance(rule.when, str) and self._may_use(number, rule) and has_match_in_time(rule.when, reply.text):
                button = _find_button(rule.press, reply.buttons) if rule.press is not None else None
                if rule.press is None or button is not None:
                    return self._use(number, rule, button)
                missed = missed or _describe_missing_button(f"rule {number + 1} fits", rule.press, reply.buttons)
        return self._proceed() or self._leave(missed)

    def wait(self) -> PersonAction | None:
        """Respond to silence: continue with the lines, or leave after a goodbye; without lines return None."""
        if self.leaving:
            return _LEAVE
        if not self._script.lines:
            return None
        return self._go_on() or _LEAVE

    def notice(self, event: Event) -> PersonAction | None:
        """Respond to an event by the first rule that matches it."""
        end = self._script.end
        if isinstance(end.when, EventMatch) and _event_matches(event, end.when):
            return PersonAction(end.say, leaves=True, reason="person_done")
        if self.leaving or (end.after is not None and self._said >= end.after):
            return None  # they only wait for the last reply
        for number, rule in enumerate(self._script.script):
            if isinstance(rule.when, EventMatch) and self._may_use(number, rule) and _event_matches(event, rule.when):
                return self._use(number, rule, None)
        return None

    def recall(self, past: Sequence[PastPersonTurn], uses: Sequence[Event] = ()) -> Mapping[int, PersonStep]:
        """Restore the state of rules and lines after an earlier conversation, without a model and without tools."""
        replay = load("clerkship.actors.person_scripted:ScriptReplay")(self)  # imported only for forks
        voice, self._voice = self._voice, replay.voice
        self._tools = RecordedTools(uses, lambda: self._used)
        try:
            return cast(Mapping[int, PersonStep], replay.run(past))
        finally:
            self._voice = voice

    def _may_use(self, number: int, rule: ScriptRule) -> bool:
        return rule.times is None or self._uses[number] < rule.times

    def _use(self, number: int, rule: ScriptRule, button: Mapping[str, Any] | None) -> PersonAction:
        used = self._uses[number]
        self._uses[number] += 1
        if rule.go_silent is not None:
            return PersonAction(after=rule.go_silent, more=partial(self._after_silence, rule, used, button))
        return self._do(rule, used, button)

    def _after_silence(self, rule: ScriptRule, used: int, button: Mapping[str, Any] | None) -> PersonAction:
        says = rule.say is not None or rule.improvise is not None or button is not None
        return self._do(rule, used, button) if says else self._proceed() or _LEAVE

    def _do(self, rule: ScriptRule, used: int, button: Mapping[str, Any] | None) -> PersonAction:
        more = partial(self._speak, rule.interrupt) if rule.interrupt is not None else None
        if button is not None:
            return self._say(press_button(button), more)
        result = self._use_tool(rule.use)
        if rule.improvise is not None:
            return self._speak(Improvisation(improvise=rule.improvise), more)
        if rule.say is None:
            return PersonAction()
        lines = (rule.say,) if isinstance(rule.say, str) else rule.say
        line = lines[min(used, len(lines) - 1)]
        return self._speak(line if result is None else line.replace(RESULT, result), more)

    def _use_tool(self, use: PersonToolUse | None) -> str | None:
        """Use a tool, if one is named; return what it shows."""
        if use is None:
            return None
        assert self._tools is not None  # a person who has tools is given them
        self._used.append(use)
        return self._tools.use(use.name, use.arguments)

    def _proceed(self) -> PersonAction | None:
        """Return the next line, or the fallback."""
        line = self._go_on()
        if line is not None or self._fallback is None:
            return line
        return self._speak(self._fallback)

    def _leave(self, missed: str) -> PersonAction:
        return PersonAction(leaves=True, reason="person_done" if self._script.lines else "nothing_left", detail=missed)

    def _go_on(self) -> PersonAction | None:
        """Return the next line; None if there is none."""
        if not self._has_lines:
            return None
        line = self._script.lines[self._next_line]
        self._next_line += 1
        if line.go_silent is not None:
            return PersonAction(after=line.go_silent, more=lambda: self._proceed() or _LEAVE)
        return self._line(line, self._interrupting())

    def _line(self, line: ScriptLine, more: NextAction | None) -> PersonAction:
        if line.press is not None:
            buttons = self._shown()
            button = _find_button(line.press, buttons)
            if button is not None:
                return self._say(press_button(button), more, line.metadata)
            detail = _describe_missing_button(f"line {self._next_line} presses a button", line.press, buttons)
            return PersonAction(leaves=True, reason="nothing_left", detail=detail)
        result = self._use_tool(line.use)
        if line.improvise is not None:
            return self._speak(Improvisation(improvise=line.improvise), more, line.metadata)
        if result is not None and line.say is not None:
            return self._speak(line.say.replace(RESULT, result), more, line.metadata)
        return self._speak(cast(str | Improvisation, line.interrupt or line.say), more, line.metadata)

    def _interrupting(self) -> NextAction | None:
        """Return the line that follows the current one without waiting for a reply."""
        lines = self._script.lines
        if self._next_line < len(lines) and lines[self._next_line].interrupt is not None:
            return self._go_on
        return None

    def _shown(self) -> tuple[Mapping[str, Any], ...]:
        """Return the buttons of the agent's last messages."""
        buttons: list[Mapping[str, Any]] = []
        for event in reversed(self._messages):
            if not is_by_agent(event):
                break
            buttons[:0] = cast(Utterance, event.payload).buttons
        return tuple(buttons)

    def _speak(
        self, line: str | Improvisation, more: NextAction | None = None, metadata: Mapping[str, Any] | None = None
    ) -> PersonAction:
        """Return a written line, or one that the model finds."""
        if isinstance(line, str):
            return self._say(PersonAction(line), more, metadata)
        assert self._voice is not None  # a person who improvises is built with one
        speech = self._voice.improvise(line.hint, ScriptProgress(tuple(self._improvised), self._ends_by_script))
        if speech.leaves and self._has_lines:
            return cast(PersonAction, self._go_on())  # all lines of the author are said, even if the model would leave
        if not speech.text:
            return speech
        self._improvised.append(speech.text)
        return self._say(speech, more, metadata)

    @property
    def _ends_by_script(self) -> bool:
        """Whether the author's `lines` decide when the person leaves; `done` from a model then changes nothing."""
        return bool(self._script.lines) and self._fallback is None

    @property
    def _has_lines(self) -> bool:
        return self._next_line < len(self._script.lines)

    def _say(
        self, speech: PersonAction, more: NextAction | None, metadata: Mapping[str, Any] | None = None
    ) -> PersonAction:
        self._said += 1
        self.leaving = speech.last and not self._has_lines
        if metadata is None and more is None:
            return speech
        along = {**(metadata or {}), **(speech.metadata or {})} or None
        return PersonAction(speech.text, metadata=along, last=speech.last, more=more)


def _describe_missing_button(what: str, title: str, buttons: tuple[Mapping[str, Any], ...]) -> str:
    """Explain to the author that a rule or line found no button to press."""
    there = ", ".join(str(button.get("title")) for button in buttons) or "none"
    return f"{what}, but no button matches {title!r}; buttons: {there}"


def _event_matches(event: Event, match: EventMatch) -> bool:
    """Return whether an event matches; one whose text is too slow to match does not."""
    try:
        return matches(event, match)
    except PatternTooSlow:
        return False


def _find_button(title: str, buttons: tuple[Mapping[str, Any], ...]) -> Mapping[str, Any] | None:
    return next((button for button in buttons if has_match_in_time(title, button_title(button))), None)


def button_title(button: Mapping[str, Any]) -> str:
    """Return the title of a button, which may have none."""
    return str(button.get("title", ""))


def press_button(button: Mapping[str, Any], *, last: bool = False) -> PersonAction:
    """Return what a channel sends for a button: its payload, or its title if it has none."""
    title = button_title(button)
    return PersonAction(str(button.get("payload") or title), metadata={"pressed": title}, last=last)


class RecordedImproviser:
    """Returns what the person said in the earlier conversation, in place of the model."""

    def __init__(self) -> None:
        self.said = ""
        self.messages: Sequence[Event] = ()
        self.tools: PersonTools | None = None

    def improvise(self, hint: str = "", progress: object = None) -> PersonAction:
        """Return what the person said then."""
        return PersonAction(self.said)


class RecordedTools:
    """Shows what the tools of a person showed in the earlier conversation, and changes nothing."""

    definitions: "Sequence[PersonTool]" = ()

    def __init__(self, uses: Sequence[Event], list_used: Callable[[], Sequence[PersonToolUse]]) -> None:
        self.uses = uses
        self._list_used = list_used

    def use(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return what the same use showed then: the first one to the first, the second one to the second."""
        payloads = [event.payload for event in self.uses if isinstance(event.payload, PersonUsedTool)]
        same = [each.result for each in payloads if each.tool == name and each.arguments == arguments]
        times = sum(each.name == name and each.arguments == arguments for each in self._list_used())
        return same[times - 1] if times <= len(same) else ""


class ScriptReplay:
    """Repeats all actions of a person in order. Lines that a scenario step said for them do not change them.

    Whether they spoke because of a reply or because of an event is inferred from what they said.
    """

    def __init__(self, person: SimulatedPerson) -> None:
        self._person, self.voice = person, RecordedImproviser()
        self._heard: AgentReply | None = None
        self._unread: AgentReply | None = None
        """What the agent said before the end of a pause, which the person answers later."""
        self._seen: deque[Event] = deque()
        self._more: PersonStep | None = None
        self._after_pause: dict[int, PersonStep] = {}
        self._has_begun = False

    def run(self, past: Sequence[PastPersonTurn]) -> Mapping[int, PersonStep]:
        """Replay a conversation; return what follows each pause whose end did not lead to an action yet."""
        before: PastPersonTurn | None = None
        for turn in past:
            if turn.said is not None or turn.paused is not None:
                self.voice.said = turn.said or ""
                self._repeat(turn, before)
                self._has_begun = True
            before = turn
        return self._after_pause

    def _repeat(self, turn: PastPersonTurn, before: PastPersonTurn | None) -> None:
        """Repeat what the person said, or how they began a pause."""
        ended = turn.cause.payload if turn.cause is not None else None
        resumed = self._after_pause.pop(ended.pause, None) if isinstance(ended, PauseEnded) else None
        if resumed is not None:
            self._take_in(before)
            self._unread, self._heard = self._heard, None
            self._try(resumed, turn.paused)
        elif turn.paused is not None:
            self._take_in(before)
            self._pause(turn, turn.paused)
        else:
            is_opening = not self._has_begun and self._try(self._person.open)
            if before is not None and not is_opening:
                self._continue(before)

    def _pause(self, turn: PastPersonTurn, pause: int) -> None:
        """Repeat how the person began a pause: after an event, after a reply, at the beginning, or in a silence."""
        while self._seen:
            event = self._seen.popleft()
            if turn.cause is not None and event.seq == turn.cause.seq:
                if self._try(partial(self._person.notice, event), pause):
                    return
            else:
                self._try(partial(self._person.notice, event), silently=True)
        if turn.cause is None:
            self._try(self._person.wait if self._has_begun else self._person.open, pause)
        elif self._heard is not None:
            heard, self._heard = self._heard, None
            self._try(partial(self._person.hear, heard), pause)

    def _take_in(self, before: PastPersonTurn | None) -> None:
        """Add what the person heard and noticed since their last action."""
        if before is None:
            return
        self._person.join([e for e in before.noticed if e.actor == "agent" and isinstance(e.payload, Utterance)])
        self._heard = _join(self._unread, before.heard) or self._heard
        self._unread = None
        self._seen.extend(before.noticed if self._person.watches else ())

    def _continue(self, before: PastPersonTurn) -> None:
        more, self._more = self._more, None
        if more is not None and self._try(more):
            return
        self._take_in(before)
        if self._notices():
            return
        heard, self._heard = self._heard, None
        self._try(self._person.wait if heard is None else lambda: self._person.hear(heard))

    def _notices(self) -> bool:
        """Return whether an event made the person say the line; later events are kept."""
        while self._seen:
            event = self._seen.popleft()
            if self._try(lambda event=event: self._person.notice(event), silently=True):  # type: ignore[misc]
                return True
        return False

    def _try(self, act: PersonStep, pause: int | None = None, *, silently: bool = False) -> bool:
        """Return whether a step produces the recorded line, or the pause with a number.

        If not, undo it, unless it may happen silently.
        """
        state = vars(self._person)
        before = {name: copy(value) if isinstance(value, list | dict) else value for name, value in state.items()}
        speech = act()
        if pause is not None and speech is not None and speech.after is not None and speech.more is not None:
            self._after_pause[pause] = speech.more
            return True
        while speech is not None and not speech.text and speech.more is not None:
            speech = speech.more()  # they were silent for a while first
        if pause is None and speech is not None and speech.text == self.voice.said:
            self._more = speech.more
            return True
        if not silently or (speech is not None and speech.text):
            state.update(before)
        return False


def _join(first: AgentReply | None, second: AgentReply | None) -> AgentReply | None:
    """Join what was heard before and after."""
    if first is None or second is None:
        return first or second
    text = "\n".join(text for text in (first.text, second.text) if text)
    return AgentReply(text, (*first.buttons, *second.buttons), (*first.custom, *second.custom))
