"""A prompt taken apart as a model that heeds its fences reads it."""

import hashlib
import re
from typing import NamedTuple

_SECTION_START = re.compile(r"<<< ([A-Z ]+) ([0-9a-f]{16})")


class ParsedPrompt(NamedTuple):
    """What stands in each section, and all that stands in none."""

    sections: dict[str, str]
    outside: str


def parse_sections(prompt: str) -> ParsedPrompt:
    """By its fences alone; each must be closed by its own code, and have the code of what it holds."""
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
