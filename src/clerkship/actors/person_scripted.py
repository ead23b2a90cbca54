"""The scripted person: rules in order, a fallback, an end. No model, no chance: the same every time."""

from clerkship.actors.contract import Speech
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
        self.watches = any(isinstance(rule.when, EventMatch) for rule in script.script) or isinstance(
            script.end.when, EventMatch
        )

    def open(self) -> Speech | None:
        """Their first line, if they begin."""
        return self._say(self._script.opening) if self._script.opening is not None else None

    def hear(self, said: str) -> Speech:
        """The end rule first, then the first rule that fits, then the fallback; without one they leave."""
        end = self._script.end
        enough = end.after is not None and self._said >= end.after
        if enough or (isinstance(end.when, str) and found(end.when, said)):
            return Speech(end.say, leaves=True, reason="person_done")
        for number, rule in enumerate(self._script.script):
            if isinstance(rule.when, str) and self._may_use(number, rule) and found(rule.when, said):
                return self._use(number, rule)
        if self._script.fallback is not None:
            return self._say(self._script.fallback)
        return Speech(leaves=True, reason="nothing_left")

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

    def _may_use(self, number: int, rule: Rule) -> bool:
        return rule.times is None or self._uses[number] < rule.times

    def _use(self, number: int, rule: Rule) -> Speech:
        used = self._uses[number]
        self._uses[number] += 1
        if rule.say is None:
            return Speech()
        lines = (rule.say,) if isinstance(rule.say, str) else rule.say
        return self._say(lines[min(used, len(lines) - 1)])

    def _say(self, line: str) -> Speech:
        self._said += 1
        return Speech(line)
