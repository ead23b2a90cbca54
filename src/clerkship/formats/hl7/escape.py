"""Escape sequences in text fields (HL7 v2 chapter 2, "Use of escape sequences in text fields")."""

import re
from typing import NamedTuple


class Delimiters(NamedTuple):
    """The delimiters that MSH-1 and MSH-2 state."""

    field: str = "|"
    component: str = "^"
    repetition: str = "~"
    escape: str = "\\"
    subcomponent: str = "&"
    truncation: str = ""
    """From version 2.7 on; empty if MSH-2 has four characters."""

    @property
    def encoding(self) -> str:
        """The encoding characters (MSH-2)."""
        return f"{self.component}{self.repetition}{self.escape}{self.subcomponent}{self.truncation}"


DEFAULT_DELIMITERS = Delimiters()
_HEX = re.compile(r"X(?:[0-9A-Fa-f]{2})+")
_LINE_BREAK = re.compile(r"\.(?:br|sp)(?:\s*\+?(\d{1,2}))?")


def unescape(text: str, delimiters: Delimiters = DEFAULT_DELIMITERS) -> str:
    """Replace escape sequences by the text they stand for. Unknown sequences are left unchanged."""
    mark = delimiters.escape
    if not mark or mark not in text:
        return text
    parts = text.split(mark)
    output = [parts[0]]
    number = 1
    while number < len(parts):
        decoded = _decode_sequence(parts[number], delimiters) if number + 1 < len(parts) else None
        if decoded is None:  # not a sequence: the escape character is literal
            output.append(mark + parts[number])
            number += 1
        else:
            output.append(decoded + parts[number + 1])
            number += 2
    return "".join(output)


def _decode_sequence(sequence: str, delimiters: Delimiters) -> str | None:
    simple = {
        "F": delimiters.field,
        "S": delimiters.component,
        "R": delimiters.repetition,
        "E": delimiters.escape,
        "T": delimiters.subcomponent,
        "P": delimiters.truncation or "#",
        "H": "",  # start and end of highlighting, which has no text
        "N": "",
    }
    if sequence in simple:
        return simple[sequence]
    if _HEX.fullmatch(sequence):
        data = bytes.fromhex(sequence[1:])
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("latin-1")
    line = _LINE_BREAK.fullmatch(sequence)
    return "\n" * int(line[1] or 1) if line is not None else None


def escape(text: str, delimiters: Delimiters = DEFAULT_DELIMITERS) -> str:
    """Escape a text for a field: delimiters, line ends and control characters become escape sequences."""
    mark = delimiters.escape
    if text.isalnum():
        return text
    if not mark:  # nothing can be escaped: characters that would break the message become spaces
        return "".join(" " if character in delimiters or ord(character) < 0x20 else character for character in text)
    sequences = {
        delimiters.escape: "E",
        delimiters.field: "F",
        delimiters.component: "S",
        delimiters.repetition: "R",
        delimiters.subcomponent: "T",
        "\n": ".br",
        "\r": "X0D",
    }
    if delimiters.truncation:
        sequences[delimiters.truncation] = "P"
    return "".join(
        f"{mark}{sequences[character]}{mark}"
        if character in sequences
        else f"{mark}X{ord(character):02X}{mark}"
        if ord(character) < 0x20
        else character
        for character in text.replace("\r\n", "\n")
    )
