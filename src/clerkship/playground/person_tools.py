"""The tools of the people of a playground: functions of its sandboxes, which people use as themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from clerkship.events.event import Event, find_conversations
from clerkship.events.lifecycle import PersonUsedTool
from clerkship.model.errors import InputError
from clerkship.playground.component import PlaygroundHost
from clerkship.sandbox.person_tools import PersonTool, PersonToolHost
from clerkship.sandbox.request import Refusal

MAX_SHOWN = 20_000
"""Characters of what a tool shows a person. They are stored in the log."""


class HeldTools:
    """The tools of one person."""

    def __init__(self, host: PlaygroundHost, key: str, names: Sequence[str]) -> None:
        """Find the tools; raise InputError if no sandbox has one of them."""
        self._host, self._key = host, key
        found = {name: _find_tool(host, name) for name in names}
        self._sandboxes = {name: sandbox for name, (sandbox, _) in found.items()}
        self.definitions = [tool for _, tool in found.values()]
        self.uses = list_uses(host.log.events, key)
        self.cause: int | None = None
        """The number of the event that the person responds to."""

    def use(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Use a tool; return what it shows, or why it is refused."""
        host, cause, is_refused = self._host, self.cause, True
        sandbox = self._sandboxes.get(name)
        if sandbox is None:
            result = f"there is no `{name[:80]}`; there is: {', '.join(self._sandboxes)}"
        else:
            state: PersonToolHost = host.components[sandbox].state  # type: ignore[assignment]  # see `_find_tool`
            try:
                result = state.use_person_tool(host.context_for(sandbox, "person", cause), name, arguments)
                is_refused = False
            except Refusal as refusal:
                result = refusal.reason
        if len(result) > MAX_SHOWN:
            result = f"{result[:MAX_SHOWN]}… ({len(result):,} characters)"
        own, _, place = self._key.partition("/")
        used = PersonUsedTool(
            tool=name[:80], arguments=dict(arguments), result=result, is_refused=is_refused, place=place
        )
        self.uses.append(host.emit(own, used, "person", cause))
        return result


def _find_tool(host: PlaygroundHost, name: str) -> tuple[str, PersonTool]:
    """Return a tool, with the first sandbox that has it."""
    for sandbox, component in host.components.items():
        state = component.state
        tool = state.find_person_tool(name) if isinstance(state, PersonToolHost) else None
        if tool is not None:
            return sandbox, tool
    raise InputError.of(f"no sandbox has the tool `{name[:80]}` of a person")


def list_uses(events: Sequence[Event], key: str) -> list[Event]:
    """Return the events of the tools that the person of a conversation used."""
    return [event for event in events if isinstance(event.payload, PersonUsedTool) and key in find_conversations(event)]
