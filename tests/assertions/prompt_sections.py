"""Parse the fenced sections of a prompt."""

import hashlib
import re
from typing import NamedTuple

_SECTION_START = re.compile(r"<<< ([A-Z ]+) ([0-9a-f]{16})")


class ParsedPrompt(NamedTuple):
    """The content of each section, and all text outside of sections."""

    sections: dict[str, str]
    outside: str


def parse_sections(prompt: str) -> ParsedPrompt:
    """Parse a prompt by its fences. Each must be closed by its own code, which is the hash of its content."""
    found: dict[str, str] = {}
    outside: list[str] = []
    lines = iter(prompt.split("\n"))
    for line in lines:
        opens = _SECTION_START.fullmatch(line)
        if opens is None:
            outside.append(line)
            continue
        name, code = opens.groups()
        inside: list[str] = []
        for within in lines:
            if within == f"{name} {code} >>>":
                break
            inside.append(within)
        else:
            raise AssertionError(f"{name} is never closed")
        text = "\n".join(inside)
        assert hashlib.sha256(text.encode()).hexdigest()[:16] == code
        assert name not in found
        found[name] = text
    return ParsedPrompt(found, "\n".join(outside))
