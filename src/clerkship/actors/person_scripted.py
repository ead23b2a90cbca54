"""The scripted person: rules in order, lines, a fallback, an end. No model, no chance: the same every time."""

from collections.abc import Mapping, Sequence
from typing import Any

from clerkship.actors.contract import Heard, Past, Speech
from clerkship.actors.recollection import relive
from clerkship.events.event import Event
from clerkship.events.query import matches
from clerkship.model.pattern import found
from clerkship.model.scenario import EventMatch, Person, Rule


class ScriptedPerson:
    """One person, going through their script."""

    def __init__(self, script: Person) -> None:
        self.name = script.name
        self._script = script
        self._uses = [0] * len(script.script)
        self._said = 0
        self._next_line = 0
        self.watches = any(isinstance(rule.when, EventMatch) for rule in script.script) or isinstance(
            script.end.when, EventMatch
        )

    def open(self) -> Speech | None:
        """Their first line, if they begin."""
        if self._script.opening is not None:
            return self._say(self._script.opening)
        return self._go_on()

    def hear(self, said: Heard) -> Speech:
        """The end rule first, then the first rule that fits, then the next line, then the fallback; then they leave."""
        end = self._script.end
        enough = end.after is not None and self._said >= end.after
        if enough or (isinstance(end.when, str) and found(end.when, said.text)):
            return Speech(end.say, leaves=True, reason="person_done")
        missed = ""
        for number, rule in enumerate(self._script.script):
            if isinstance(rule.when, str) and self._may_use(number, rule) and found(rule.when, said.text):
                if rule.press is None:
                    return self._use(number, rule)
                button = _button(rule.press, said.buttons)
                if button is not None:
                    self._uses[number] += 1
                    return self._press(button)
                missed = missed or _missed(number, rule.press, said.buttons)
        line = self._go_on()
        if line is not None:
            return line
        if self._script.fallback is not None:
            return self._say(self._script.fallback)
        return Speech(leaves=True, reason="person_done" if self._script.lines else "nothing_left", detail=missed)

    def wait(self) -> Speech | None:
        """Whoever has lines goes on with them; others take silence for an end."""
        if not self._script.lines:
            return None
        return self._go_on() or Speech(leaves=True, reason="person_done")

    def notice(self, event: Event) -> Speech | None:
        """A rule on an event speaks when the event happens."""
        end = self._script.end
        if isinstance(end.when, EventMatch) and matches(event, end.when):
            return Speech(end.say, leaves=True, reason="person_done")
        if end.after is not None and self._said >= end.after:
            return None  # they have said their share, and only wait for the last answer
        for number, rule in enumerate(self._script.script):
            if isinstance(rule.when, EventMatch) and self._may_use(number, rule) and matches(event, rule.when):
                return self._use(number, rule)
        return None

    def recall(self, past: Sequence[Past]) -> None:
        """Their rules and lines are used up as far as they were."""
        relive(self, past)

    def _may_use(self, number: int, rule: Rule) -> bool:
        return rule.times is None or self._uses[number] < rule.times

    def _use(self, number: int, rule: Rule) -> Speech:
        used = self._uses[number]
        self._uses[number] += 1
        if rule.say is None:
            return Speech()
        lines = (rule.say,) if isinstance(rule.say, str) else rule.say
        return self._say(lines[min(used, len(lines) - 1)])

    def _go_on(self) -> Speech | None:
        """The next of their lines, if there is one."""
        if self._next_line >= len(self._script.lines):
            return None
        line = self._script.lines[self._next_line]
        self._next_line += 1
        return self._say(line.say, line.metadata)

    def _press(self, button: Mapping[str, Any]) -> Speech:
        """What a channel sends for a button: its payload, or its title if it has none."""
        title = str(button.get("title", ""))
        return self._say(str(button.get("payload") or title), {"pressed": title})

    def _say(self, line: str, metadata: Mapping[str, Any] | None = None) -> Speech:
        self._said += 1
        return Speech(line, metadata=metadata)


def _missed(number: int, title: str, buttons: tuple[Mapping[str, Any], ...]) -> str:
    """What an author should know whose rule fitted and found nothing to press."""
    there = ", ".join(str(button.get("title")) for button in buttons) or "none"
    return f"rule {number + 1} fits, and no button is like {title!r}; there were: {there}"


def _button(title: str, buttons: tuple[Mapping[str, Any], ...]) -> Mapping[str, Any] | None:
    return next((button for button in buttons if found(title, str(button.get("title", "")))), None)
