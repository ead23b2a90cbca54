"""The fax numbers that a configuration defines, for steps and criteria to refer to."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from clerkship.model.closed import NameOf
from clerkship.model.conversation_key import is_phone, normalize_any_address
from clerkship.simulators.fax.config import FaxConfig

OWN_NUMBER = NameOf("own fax number", normalize_any_address)
FAX_NUMBER = NameOf("fax number", normalize_any_address, or_mentioned=True, has_form=is_phone)
FAX = NameOf("fax", normalize_any_address, or_mentioned=True)
"""An id that a step gives, or the number that a fax came from."""


def _list_numbers(config: FaxConfig, base: Any) -> Collection[str]:
    return {*config.numbers, *(contact.number for contact in config.contacts)}


NAMES: Mapping[str, Callable[[FaxConfig, Any], Collection[str]]] = {
    OWN_NUMBER.sort: lambda config, base: config.numbers,
    FAX_NUMBER.sort: _list_numbers,
    FAX.sort: _list_numbers,
}
