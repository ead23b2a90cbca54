"""Threads of messages, and how a message finds its thread.

A thread of text messages is a pair of numbers. An e-mail belongs to the thread of a message that its In-Reply-To or
References name (RFC 5322 §3.6.4), or else to the thread with the same subject and correspondent. A thread of portal
messages is explicit.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from clerkship.model.conversation_key import normalize_address
from clerkship.simulators.messages.records import Channel

_REPLY_PREFIX = re.compile(r"^\s*(?:(?:re|fw|fwd|aw|wg)\s*(?:\[\d{1,3}\])?\s*:\s*)+", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
ThreadKey = tuple[str, str, str]
"""A channel, and two texts: numbers of a text message; a subject and a correspondent of an e-mail."""


@dataclass(slots=True)
class MessageThread:
    """Messages that belong together."""

    id: str
    channel: Channel
    subject: str | None
    correspondents: dict[str, None] = field(default_factory=dict)
    """The addresses at the other end, in order of their first message."""
    messages: list[int] = field(default_factory=list)
    """The numbers of its messages, in order."""
    unread: int = 0
    is_closed: bool = False

    @property
    def addresses(self) -> list[str]:
        """The addresses at the other end, as they are compared."""
        return [normalize_address(self.channel, address) for address in self.correspondents]


def normalize_subject(subject: str | None) -> str:
    """Return a subject without the prefixes of replies, in lower case, with single spaces."""
    return _SPACES.sub(" ", _REPLY_PREFIX.sub("", subject or "")).strip().casefold()


def build_sms_key(own_number: str, number: str) -> ThreadKey:
    """Return the key of the thread of two numbers."""
    return "sms", own_number, number


def build_email_keys(subject: str | None, correspondents: Iterable[str]) -> list[ThreadKey]:
    """Return a key for each correspondent; none for an e-mail without a subject, which begins its own thread."""
    normalized = normalize_subject(subject)
    return [("email", normalized, address.casefold()) for address in correspondents] if normalized else []
