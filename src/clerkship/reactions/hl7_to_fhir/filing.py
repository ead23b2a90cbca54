"""Apply one message to the chart: look resources up, write them, and commit all of it or nothing."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from clerkship.events.event import Event
from clerkship.fhir.chart import Chart
from clerkship.fhir.issue import FhirError
from clerkship.fhir.resource import Resource, get_key, render_resource
from clerkship.fhir.search import search_keys
from clerkship.hl7.message import BadMessage, Hl7Message, Segment, parse_message
from clerkship.reactions.contract import React
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir import write
from clerkship.simulators.fhir.events import NothingChanged
from clerkship.simulators.fhir.outcome import refusal, refusal_from_invalid
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.hl7.events import MessageArrived, MessageSent
from clerkship.simulators.hl7.filed import FiledMessage

_SPECIAL = re.compile(r"([,|$\\])")


class Filing:
    """A message, and a draft of the chart with what has been filed of the message so far."""

    def __init__(self, draft: Transaction, message: Hl7Message) -> None:
        self.draft = draft
        self.message = message
        self.operation = f"{message.type}^{message.trigger}"
        """The name of the operation in the events of the chart: `ADT^A01`."""
        self._last: Resource = {}
        self._written: dict[str, None] = {}

    def segment(self, name: str, purpose: str) -> Segment:
        """Return the first segment of a name; refused if there is none: `purpose` completes "nobody can know"."""
        found = self.message.first(name)
        if found is None:
            raise refusal(422, "required", f"the message has no {name}: nobody can know {purpose}")
        return found

    @property
    def zone(self) -> int:
        """Return the zone of times without one, in minutes ahead of UTC."""
        return self.draft.zone

    @property
    def authorities(self) -> Mapping[str, str]:
        """Return the configured systems of assigning authorities."""
        return self.draft.settings.authorities

    def find(self, type: str, *pairs: tuple[str, str]) -> list[Resource]:
        """Return the resources that a search matches."""
        try:
            keys = search_keys(self.draft, type, pairs)
        except FhirError as wrong:
            raise refusal_from_invalid(wrong, 422) from None
        return self.resources(keys)

    def resources(self, keys: Iterable[str]) -> list[Resource]:
        """Return the resources of some keys that the chart has."""
        found = map(self.draft.resource, keys)
        return [resource for resource in found if resource is not None]

    def with_number(self, type: str, value: str) -> list[Resource]:
        """Return the resources with an identifier of a value. A search would rebuild its index for each message."""
        chart, changed = self.draft.chart, self.draft.changed(type)
        kept = chart.once(("numbers", type), lambda: _by_number(chart, type))
        keys = [key for key in kept.get(value, ()) if key not in changed]
        keys += [key for key, found in changed.items() if found is not None and value in _numbers_in(found)]
        return self.resources(sorted(keys))

    def there(self, type: str, id: str) -> Resource | None:
        """Return a resource by its id, or None."""
        return self.draft.resource(f"{type}/{id}")

    def new_id(self, type: str) -> str:
        """Return an id that is not in use."""
        return self.draft.new_id(type)

    def write(self, resource: Resource) -> Resource:
        """Write a resource, unless the chart has it with the same content."""
        before = self.draft.resource(get_key(resource))
        self._last = resource
        if before is None or _content(before) != _content(resource):
            write.put_resource(self.draft, resource, self.operation)
            self._written[get_key(resource)] = None
        return resource

    def close(self) -> FiledMessage:
        """Return the keys of the resources that were written; note in the log if there were none."""
        if not self._written and self._last:
            type, id = self._last["resourceType"], self._last["id"]
            self.draft.note(NothingChanged(operation=self.operation, type=type, id=id))
        return FiledMessage(tuple(self._written))


def _numbers_in(resource: Resource) -> list[str]:
    held = [*resource.get("identifier", ()), resource.get("masterIdentifier")]
    return [each["value"] for each in held if each and "value" in each]


def _by_number(chart: Chart, type: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in chart.of_type(type):
        for value in dict.fromkeys(_numbers_in(orjson.loads(chart[key]))):
            found.setdefault(value, []).append(key)
    return found


def _content(resource: Resource) -> bytes:
    return render_resource({name: value for name, value in resource.items() if name != "meta"})


def escaped(value: str) -> str:
    """Escape a value for a search (R4 §3.1.1.4.1)."""
    return _SPECIAL.sub(r"\\\1", value)


def trimmed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the elements that are not empty: FHIR has no empty elements."""
    return {name: value for name, value in data.items() if value not in (None, "", [], {})}


File = Callable[[Filing], None]


def by_trigger(files: Mapping[File, str]) -> Mapping[str, File]:
    """Return the function for each trigger, given the triggers of each function, separated by blanks."""
    return {trigger: file for file, triggers in files.items() for trigger in triggers.split()}


def reaction(files: Mapping[str, File], type: str) -> React:
    """Return the reaction to messages of one type, given a function for each trigger."""

    def react(state: FhirState, act: ActionContext, event: Event) -> FiledMessage | None:
        if not isinstance(event.payload, MessageSent | MessageArrived):
            return None
        try:
            message = parse_message(event.payload.message)
        except BadMessage as wrong:
            raise refusal(422, "structure", f"this is no message: {wrong}") from None
        file = files.get(message.trigger)
        if file is None:
            known = ", ".join(sorted(files))
            raise refusal(
                501, "not-supported", f"{type}^{message.trigger[:20]} is not filed in this chart; {known} are"
            )
        with Transaction(state, act) as draft:
            filing = Filing(draft, message)
            file(filing)
            return filing.close()

    return react
