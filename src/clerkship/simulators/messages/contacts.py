"""Whom an organization can write to: the patients of the FHIR datasets, and the contacts of the config."""

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import orjson

from clerkship.formats.fhir.resource import list_objects, parse_key
from clerkship.model.conversation_key import normalize_address, normalize_phone
from clerkship.model.dataset import Dataset
from clerkship.simulators.messages.config import Contact, MessagesConfig
from clerkship.simulators.messages.records import Channel

Reach = Literal["reachable", "landline", "unreachable", "unknown"]
"""What becomes of a text message to a number."""
_PATIENT = re.compile(rb'\{\s*"resourceType"\s*:\s*"Patient"')


@dataclass(frozen=True, slots=True)
class ContactEntry:
    """A person or office in the directory, with all their addresses."""

    id: str
    """`Patient/…`, or `contact-1` for the first contact of the config."""
    name: str
    phones: tuple[str, ...] = ()
    """Numbers that receive text messages."""
    landlines: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    portal: str | None = None
    is_unreachable: bool = False
    is_opted_out: bool = False

    def addresses(self, channel: Channel) -> tuple[str, ...]:
        """Return their addresses on a channel; a landline is not one for text messages."""
        if channel == "portal":
            return (self.portal,) if self.portal else ()
        return self.phones if channel == "sms" else self.emails


class ContactIndex:
    """Entries by their addresses. An address may belong to several: a family shares a phone."""

    def __init__(self, entries: Sequence[ContactEntry]) -> None:
        self.entries = entries
        self._by_address: dict[tuple[str, str], list[ContactEntry]] = {}
        for entry in entries:
            for number in dict.fromkeys((*entry.phones, *entry.landlines)):
                self._by_address.setdefault(("sms", number), []).append(entry)
            for address in entry.emails:
                self._by_address.setdefault(("email", normalize_address("email", address)), []).append(entry)
            if entry.portal:
                self._by_address.setdefault(("portal", entry.portal), []).append(entry)

    def find(self, channel: Channel, address: str) -> list[ContactEntry]:
        return self._by_address.get((channel, normalize_address(channel, address)), [])


class PatientContacts(Mapping[str, ContactEntry]):
    """The patients of the datasets, by key. All playgrounds share it; patients are parsed when first looked up."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        self._datasets = datasets
        self._directories: list[tuple[MessagesConfig, ContactDirectory]] = []
        self._lock = threading.RLock()

    @cached_property
    def _lines(self) -> dict[str, bytes]:
        lines = (line for dataset in self._datasets for line in dataset.lines or () if _PATIENT.match(line))
        return {parse_key(line): line for line in lines}

    def list_resources(self, type: str) -> Iterator[dict[str, Any]]:
        """Yield the resources of a type in the datasets."""
        start = re.compile(rb'\{\s*"resourceType"\s*:\s*"' + re.escape(type.encode()) + rb'"')
        for dataset in self._datasets:
            yield from (orjson.loads(line) for line in dataset.lines or () if start.match(line))

    @cached_property
    def index(self) -> ContactIndex:
        with self._lock:
            return ContactIndex(tuple(map(self.__getitem__, self._lines)))

    def __getitem__(self, key: str) -> ContactEntry:
        return _read_patient(key, orjson.loads(self._lines[key]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def open_directory(self, config: MessagesConfig) -> "ContactDirectory":
        """Return the directory for a config; it is built once."""
        with self._lock:
            for known, directory in self._directories:
                if known is config:
                    return directory
            directory = ContactDirectory(self, config)
            self._directories.append((config, directory))
            return directory


class ContactDirectory:
    """The contacts of a config, then the patients. For an address of both, the config takes precedence."""

    def __init__(self, patients: PatientContacts, config: MessagesConfig) -> None:
        self._patients = patients if config.use_patients else PatientContacts(())
        self._contacts = ContactIndex(
            [_read_contact(f"contact-{place}", contact) for place, contact in enumerate(config.contacts, 1)]
        )

    def __iter__(self) -> Iterator[ContactEntry]:
        return chain(self._contacts.entries, self._patients.index.entries)

    def find(self, channel: Channel, address: str) -> list[ContactEntry]:
        """Return the entries with an address, those of the config first."""
        return [*self._contacts.find(channel, address), *self._patients.index.find(channel, address)]

    def opted_out(self) -> Iterator[str]:
        """Yield the numbers of contacts that have opted out before the trial begins."""
        for entry in self._contacts.entries:
            if entry.is_opted_out:
                yield from (*entry.phones, *entry.landlines)

    def is_opted_out(self, number: str) -> bool:
        """Return whether a contact of the config with this number has opted out before the trial begins."""
        return any(entry.is_opted_out for entry in self._contacts.find("sms", number))

    def reach_by_sms(self, number: str) -> Reach:
        """Return what becomes of a text message to a number."""
        entries = self._contacts.find("sms", number) or self._patients.index.find("sms", number)
        if not entries:
            return "unknown"
        if any(entry.is_unreachable for entry in entries):
            return "unreachable"
        return "reachable" if any(number in entry.phones for entry in entries) else "landline"


def _read_contact(id: str, contact: Contact) -> ContactEntry:
    numbers = (contact.phone,) if contact.phone else ()
    return ContactEntry(
        id=id,
        name=contact.name,
        phones=() if contact.landline else numbers,
        landlines=numbers if contact.landline else (),
        emails=(contact.email,) if contact.email else (),
        portal=contact.portal,
        is_unreachable=contact.unreachable,
        is_opted_out=contact.opted_out,
    )


def _read_patient(key: str, patient: Mapping[str, Any]) -> ContactEntry:
    """Return the entry of a Patient: mobile numbers receive text messages, other phone numbers are landlines."""
    phones: dict[str, None] = {}
    landlines: dict[str, None] = {}
    emails: dict[str, None] = {}
    for telecom in list_objects(patient, "telecom"):
        value, system, use = telecom.get("value"), telecom.get("system"), telecom.get("use")
        if not isinstance(value, str) or use == "old":
            continue
        if system == "email":
            emails[value] = None
        elif system in ("phone", "sms") and (number := normalize_phone(value)):
            (phones if use == "mobile" or system == "sms" else landlines)[number] = None
    return ContactEntry(
        id=key,
        name=_read_name(patient) or key,
        phones=tuple(phones),
        landlines=tuple(number for number in landlines if number not in phones),
        emails=tuple(emails),
        portal=key,
    )


def _read_name(patient: Mapping[str, Any]) -> str:
    names = list_objects(patient, "name") or [{}]
    name = next((each for each in names if each.get("use") == "official"), names[0])
    parts = [*map(str, name.get("given") or ()), str(name.get("family") or "")]
    return str(name.get("text") or " ".join(filter(None, parts)))
