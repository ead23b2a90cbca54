"""E-mail addresses in a text, written or spelled."""

import re
from collections.abc import Iterator

from clerkship.model.conversation_key import normalize_address
from clerkship.text.folding import fold

EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
"""Every repetition is bounded, because an agent's text may be built to be slow to match."""
_SPELLED = re.compile(
    r"(?<![\w.+-])([\w.+-]{1,64}) ?(?:\(at\)|\[at\]| at ) ?([\w-]{1,63}) ?(?:\(dot\)|\[dot\]| dot |\.) ?([a-z]{2,10})\b"
)


def normalize_email(address: str) -> str:
    """Return an address as it is compared: folded, by the rule for the keys of conversations."""
    return normalize_address("email", fold(address).rstrip("."))


def find_emails(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the addresses in a text in lower case, each with its start and end: also `ana (at) example dot org`."""
    if "@" in text:
        yield from ((normalize_email(match[0]), *match.span()) for match in EMAIL.finditer(text))
    if " at " in text or "at)" in text or "at]" in text:
        for match in _SPELLED.finditer(text):
            yield normalize_email(f"{match[1]}@{match[2]}.{match[3]}"), *match.span()
