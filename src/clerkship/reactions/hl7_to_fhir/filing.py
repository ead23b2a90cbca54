"""Apply one message to the chart: look resources up, write them, and commit all of it or nothing."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from clerkship.events.event import Event
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import Resource, get_key, render_resource
from clerkship.formats.fhir.search import search_keys
from clerkship.formats.hl7.message import BadMessage, Hl7Message, Segment, parse_message
from clerkship.reactions.contract import React
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir import write
from clerkship.simulators.fhir.events import NothingChanged
from clerkship.simulators.fhir.outcome import refusal, refusal_from_invalid
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.hl7.events import Hl7MessageArrived, Hl7MessageSent
from clerkship.simulators.hl7.state import FiledMessage

_SPECIAL = re.compile(r"([,|$\\])")


class Filing:
    """A message being filed, with its transaction on the chart."""

    def __init__(self, transaction: Transaction, message: Hl7Message) -> None:
        self.transaction = transaction
        self.message = message
        self.operation = f"{message.type}^{message.trigger}"
        """The name of the operation in the events of the chart: `ADT^A01`."""
        self._last: Resource = {}
        self._written: dict[str, None] = {}

    def require_segment(self, name: str, purpose: str) -> Segment:
        """Return the first segment with a name; refused if it is missing. `purpose` names what it identifies."""
        segment = self.message.first(name)
        if segment is None:
            raise refusal(422, "required", f"the message has no {name} segment ({purpose})")
        return segment

    @property
    def zone(self) -> int:
        """Return the zone of times without one, in minutes ahead of UTC."""
        return self.transaction.zone

    @property
    def authorities(self) -> Mapping[str, str]:
        """Return the configured systems of assigning authorities."""
        return self.transaction.settings.authorities

    def find(self, type: str, *pairs: tuple[str, str]) -> list[Resource]:
        """Return the resources that a search matches."""
        try:
            keys = search_keys(self.transaction, type, pairs)
        except FhirError as error:
            raise refusal_from_invalid(error, 422) from None
        return self.get_resources(keys)

    def get_resources(self, keys: Iterable[str]) -> list[Resource]:
        """Return the resources of some keys that the chart has."""
        resources = map(self.transaction.resource, keys)
        return [resource for resource in resources if resource is not None]

    def find_by_identifier(self, type: str, value: str) -> list[Resource]:
        """Return the resources with an identifier of a value. A search would rebuild its index for each message."""
        chart, changed = self.transaction.chart, self.transaction.changed(type)
        index = chart.get_or_build(("numbers", type), lambda: _index_identifiers(chart, type))
        keys = [key for key in index.get(value, ()) if key not in changed]
        keys += [
            key for key, resource in changed.items() if resource is not None and value in _identifier_values(resource)
        ]
        return self.get_resources(sorted(keys))

    def find_by_id(self, type: str, id: str) -> Resource | None:
        """Return a resource by its id, or None."""
        return self.transaction.resource(f"{type}/{id}")

    def new_id(self, type: str) -> str:
        """Return an id that is not in use."""
        return self.transaction.new_id(type)

    def write(self, resource: Resource) -> Resource:
        """Write a resource, unless the chart has it with the same content."""
        before = self.transaction.resource(get_key(resource))
        self._last = resource
        if before is None or _render_content(before) != _render_content(resource):
            write.put_resource(self.transaction, resource, self.operation)
            self._written[get_key(resource)] = None
        return resource

    def close(self) -> FiledMessage:
        """Return the keys of the resources that were written; note in the log if there were none."""
        if not self._written and self._last:
            type, id = self._last["resourceType"], self._last["id"]
            self.transaction.note(NothingChanged(operation=self.operation, type=type, id=id))
        return FiledMessage(tuple(self._written))


def _identifier_values(resource: Resource) -> list[str]:
    identifiers = [*resource.get("identifier", ()), resource.get("masterIdentifier")]
    return [each["value"] for each in identifiers if each and "value" in each]


def _index_identifiers(chart: Chart, type: str) -> dict[str, list[str]]:
    index: dict[str, list[str]] = {}
    for key in chart.list_keys(type):
        for value in dict.fromkeys(_identifier_values(orjson.loads(chart[key]))):
            index.setdefault(value, []).append(key)
    return index


def _render_content(resource: Resource) -> bytes:
    return render_resource({name: value for name, value in resource.items() if name != "meta"})


def escape_search_value(value: str) -> str:
    """Escape a value for a search (R4 §3.1.1.4.1)."""
    return _SPECIAL.sub(r"\\\1", value)


def drop_empty(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the elements that are not empty: FHIR has no empty elements."""
    return {name: value for name, value in data.items() if value not in (None, "", [], {})}


FileMessage = Callable[[Filing], None]


def map_triggers(files: Mapping[FileMessage, str]) -> Mapping[str, FileMessage]:
    """Return the function for each trigger, given the triggers of each function, separated by blanks."""
    return {trigger: file for file, triggers in files.items() for trigger in triggers.split()}


def build_reaction(files: Mapping[str, FileMessage], type: str) -> React:
    """Return the reaction to messages of one type, given a function for each trigger."""

    def react(state: FhirState, action: ActionContext, event: Event) -> FiledMessage | None:
        if not isinstance(event.payload, Hl7MessageSent | Hl7MessageArrived):
            return None
        try:
            message = parse_message(event.payload.message)
        except BadMessage as error:
            raise refusal(422, "structure", f"not an HL7 message: {error}") from None
        file = files.get(message.trigger)
        if file is None:
            known = ", ".join(sorted(files))
            raise refusal(
                501, "not-supported", f"unsupported trigger event {type}^{message.trigger[:20]} (expected: {known})"
            )
        with Transaction(state, action) as transaction:
            filing = Filing(transaction, message)
            file(filing)
            return filing.close()

    return react
