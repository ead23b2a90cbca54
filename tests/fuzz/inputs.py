"""Hypothesis strategies for inputs of the fuzz targets: tokens of the formats, and edited valid inputs."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from hypothesis import strategies as st

MAX_BYTES = 1500
MAX_EDITS = 6
WORDS = (
    b"|", b"^", b"~", b"\\", b"&", b"\r", b"\n", b"\r\n", b"\x0b", b"\x1c\r", b"\x1c", b'""', b"\xef\xbb\xbf", b"\x00",
    b"MSH|^~\\&|", b"MSH#*!?%#", b"FHS|^~\\&|", b"BHS|^~\\&|", b"BTS|1", b"FTS|1", b"PID|1||7^^^A||L^M\r",
    b"PV1|1|O\r", b"OBR|1|||K\r", b"OBX|1|NM|K||5||||||F\r", b"ORC|NW\r", b"EVN||2026\r", b"ZZZ|1\r", b"NTE|1\r",
    b"TXA|1\r", b"\\F\\", b"\\X0D0A\\", b"\\.br\\", b"\\.sp+3\\", b"\\H\\", b"\\E\\", b"\\Xzz\\", b"2.3", b"2.5.1",
    b"2.8.2", b"9.9", b"ADT^A01", b"ORU^R01^ORU_R01", b"ACK^A01^ACK", b"20260302", b"20260230", b"-1.5", b"9" * 30,
    b"NM", b"SN", b"8859/1", b"..", b"/", b"//", b".", b"a" * 300, b"\xff\xfe", b"\xe2\x80\xae", b"\xc3\xa9", b"\x85",
    b"\xe2\x80\xa8", b"[*]",
)  # fmt: skip

_PLACES = st.integers(0, MAX_BYTES)


class Edit(NamedTuple):
    """One change of an input. A position beyond the end wraps around."""

    kind: Literal["insert", "replace", "delete", "repeat", "swap lines", "splice"]
    start: int
    size: int
    word: bytes
    other: bytes
    place: int
    """Of the other input, or of the other line."""


def inputs(seeds: Sequence[bytes], words: Sequence[bytes] = WORDS, line_end: bytes = b"\r") -> st.SearchStrategy[bytes]:
    """Return any sequence of tokens, or a seed with up to MAX_EDITS edits."""
    edits = st.builds(
        Edit,
        st.sampled_from(("insert", "replace", "delete", "repeat", "swap lines", "splice")),
        _PLACES,
        st.sampled_from((1, 2, 4, 16, 64)),
        st.sampled_from(words) | st.binary(min_size=1, max_size=2),
        st.sampled_from(seeds),
        _PLACES,
    )
    tokens = st.lists(st.sampled_from(words), max_size=20).map(b"".join)
    edited = st.builds(_edited, st.sampled_from(seeds), st.lists(edits, max_size=MAX_EDITS), st.just(line_end))
    return tokens | edited


def _edited(data: bytes, edits: list[Edit], line_end: bytes) -> bytes:
    for edit in edits:
        data = _apply(edit, data, line_end)
    return data[:MAX_BYTES]


def _apply(edit: Edit, data: bytes, line_end: bytes) -> bytes:
    start = edit.start % (len(data) + 1)
    end = min(len(data), start + edit.size)
    match edit.kind:
        case "insert":
            return data[:start] + edit.word + data[start:]
        case "replace":
            return data[:start] + edit.word + data[end:]
        case "delete":
            return data[:start] + data[end:]
        case "repeat":
            return data[:end] + data[start:end] * (1 + edit.place % 20) + data[end:]
        case "swap lines":
            lines = data.split(line_end)
            one, other = edit.start % len(lines), edit.place % len(lines)
            lines[one], lines[other] = lines[other], lines[one]
            return line_end.join(lines)
        case "splice":
            return data[:start] + edit.other[edit.place % (len(edit.other) + 1) :]
