"""What opens a playground, or differs between machines, taken out of an agent's words."""

import re
from collections.abc import Iterator, Mapping

from clerkship.sandbox.listener import ConnectionInfo

SHORTEST = 6
"""Signs that a secret has at least: what is shorter stands in many a text by chance."""
LONG_WORD = 20
_HERE = r"(?:127\.0\.0\.1|localhost|\[?::1\]?|port)"
Hidden = dict[str, str]
"""What may not be read, and what is to be read instead."""


def hide(text: str, hidden: Mapping[str, str], ports: Mapping[int, str]) -> str:
    """The text without any of it, upper or lower case; a port is known by the host, or the word, before it."""
    for secret in sorted(hidden, key=len, reverse=True):
        instead = hidden[secret]
        text = re.sub(re.escape(secret), lambda _, instead=instead: instead, text, flags=re.IGNORECASE)  # type: ignore[misc]
    for port, name in ports.items():
        text = re.sub(rf"({_HERE}\W{{1,5}}){port}(?!\d)", rf"\g<1>[{name}]", text, flags=re.IGNORECASE)
    return text


class CredentialRedactor:
    """Replace tokens, addresses and ports in texts. Most texts contain none, and are only searched."""

    def __init__(self, hidden: Mapping[str, str], ports: Mapping[int, str]) -> None:
        self._hidden, self._ports = dict(hidden), dict(ports)
        self._signs = [secret.lower() for secret in hidden] + [str(port) for port in ports]

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        lower = text.lower()
        return hide(text, self._hidden, self._ports) if any(sign in lower for sign in self._signs) else text


def secrets_of(name: str, lines: Mapping[str, ConnectionInfo]) -> Iterator[tuple[str, str]]:
    """All that was told of the ways into a sandbox, but for hosts and ports, in each form that it is quoted in."""
    for told in lines.values():
        for key, value in told.items():
            if isinstance(value, str) and key != "host":
                for form in _forms(value):
                    yield form, f"[{key} of {name}]"


def _forms(value: str) -> Iterator[str]:
    """Whole; with its line ends escaped; line by line; and the long words of a line."""
    whole = value.strip()
    if len(whole) >= SHORTEST:
        yield from {whole, whole.replace("\n", "\\n"), whole.replace("\n", "\\\\n")}
    lines = whole.splitlines()
    for line in lines if len(lines) > 1 else ():
        if len(line) >= SHORTEST and not line.startswith("-----"):  # what every key begins and ends with
            yield line
    for word in whole.split():
        if len(word) >= LONG_WORD:
            yield word


def ports_of(name: str, lines: Mapping[str, ConnectionInfo]) -> Iterator[tuple[int, str]]:
    """Where they are."""
    for line, told in lines.items():
        if isinstance(port := told.get("port"), int) and port:
            yield port, f"{line} port of {name}"
