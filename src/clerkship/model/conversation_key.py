"""The keys of conversations: the name of a sandbox with one conversation, or `name/sms:+15550100123`."""

import re
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

PhoneNumber = Annotated[str, Field(pattern=r"^\+[1-9]\d{6,14}$", description="phone number in E.164: +15550100123")]
PersonChannel = Literal["sms", "email", "portal", "phone"]
PHONE_CHANNELS = ("sms", "phone")
"""Channels whose addresses are phone numbers."""
MAX_PHONE_LENGTH = 32
_E164 = re.compile(r"\+[1-9][0-9]{6,14}")
_EMAIL = re.compile(r"[^@\s<>,;\"]+@[^@\s<>,;\"]+")
_PORTAL = re.compile(r"[A-Z][A-Za-z]*/[A-Za-z0-9.-]{1,64}")
_PUNCTUATION = str.maketrans("", "", " ()-.\u00a0/")
_NATIONAL_DIGITS = 10
ADDRESS_FORMS = {
    "sms": "a phone number such as +15550100123",
    "email": "an e-mail address",
    "portal": "an account of the patient portal, such as Patient/pat-0001",
    "phone": "a phone number such as +15550100123",
}
"""What the address of a person on each channel looks like, for errors."""


class ConversationKey(NamedTuple):
    """The parts of a key."""

    sandbox: str
    channel: str | None = None
    """None if the sandbox has only one conversation."""
    address: str | None = None

    def __str__(self) -> str:
        return (
            self.sandbox if self.channel is None else f"{self.sandbox}/{build_place(self.channel, self.address or '')}"
        )


@lru_cache(maxsize=1024)
def parse_key(key: str) -> ConversationKey:
    """Return the parts of a key."""
    sandbox, _, place = key.partition("/")
    channel, _, address = place.partition(":")
    return ConversationKey(sandbox, channel, address) if place else ConversationKey(sandbox)


def build_place(channel: str, address: str) -> str:
    """Return the key of a conversation within its sandbox: `sms:+15550100123`."""
    return f"{channel}:{normalize_address(channel, address)}"


def normalize_address(channel: str, address: str) -> str:
    """Return an address as it is compared: a number in E.164, an e-mail address in lower case."""
    if channel in PHONE_CHANNELS:
        return normalize_phone(address) or address
    return address.strip().casefold() if channel == "email" else address.strip()


def normalize_any_address(address: str) -> str:
    """Return an address of any channel as it is compared: a number in E.164, also if only its `+` is missing."""
    plain = address.strip()
    number = normalize_phone(plain) or normalize_phone(f"+{plain}")
    return number or (plain if _PORTAL.fullmatch(plain) else plain.casefold())


def normalize_phone(text: str) -> str | None:
    """Return a phone number in E.164; one of ten digits is a number of the United States. None if it is no number."""
    if len(text) > MAX_PHONE_LENGTH:
        return None
    digits = text.strip().removeprefix("tel:").translate(_PUNCTUATION)
    if not digits.startswith("+"):
        is_national = len(digits) == _NATIONAL_DIGITS
        is_long = len(digits) == _NATIONAL_DIGITS + 1 and digits.startswith("1")
        digits = f"+1{digits}" if is_national else f"+{digits}" if is_long else ""
    return digits if _E164.fullmatch(digits) else None


def is_phone(text: str) -> bool:
    """Return whether a text is a phone number, in any notation."""
    return normalize_phone(text) is not None


def is_address(channel: PersonChannel, address: str) -> bool:
    """Return whether a text has the form of an address on a channel."""
    if channel in PHONE_CHANNELS:
        return normalize_phone(address) is not None
    return bool((_EMAIL if channel == "email" else _PORTAL).fullmatch(address.strip()))
