"""The addresses that a configuration and the patients of the datasets define, for steps and criteria to refer to."""

from collections.abc import Callable, Collection, Mapping

from clerkship.model.closed import NameOf
from clerkship.model.conversation_key import is_address, normalize_any_address
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.contacts import PatientContacts


def _is_address(text: str) -> bool:
    return is_address("sms", text) or is_address("email", text) or is_address("portal", text)


OWN_ADDRESS = NameOf("own address", normalize_any_address)
ADDRESS = NameOf(
    "address",
    normalize_any_address,
    or_mentioned=True,
    has_form=_is_address,
    form="a phone number, an e-mail address, or a patient portal account such as Patient/pat-0001",
)


def _list_own(config: MessagesConfig, base: PatientContacts) -> Collection[str]:
    return set(map(normalize_any_address, (*config.numbers, *config.addresses)))


def _list_addresses(config: MessagesConfig, base: PatientContacts) -> Collection[str]:
    entries = [
        address
        for entry in base.open_directory(config)
        for address in (*entry.phones, *entry.landlines, *entry.emails, entry.portal)
        if address
    ]
    return {*_list_own(config, base), *map(normalize_any_address, entries)}


NAMES: Mapping[str, Callable[[MessagesConfig, PatientContacts], Collection[str]]] = {
    OWN_ADDRESS.sort: _list_own,
    ADDRESS.sort: _list_addresses,
}
