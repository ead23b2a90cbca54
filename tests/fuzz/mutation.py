"""How an input is changed: by bytes, by words of the format, by lines, by parts of other inputs."""

from random import Random

LONGEST = 1500
_WORDS = [
    *(
        b"|",
        b"^",
        b"~",
        b"\\",
        b"&",
        b"\r",
        b"\n",
        b"\r\n",
        b"\x0b",
        b"\x1c\r",
        b"\x1c",
        b'""',
        b"\xef\xbb\xbf",
        b"\x00",
    ),
    *(
        b"MSH|^~\\&|",
        b"MSH#*!?%#",
        b"FHS|^~\\&|",
        b"BHS|^~\\&|",
        b"BTS|1",
        b"FTS|1",
        b"PID|1||7^^^A||L^M\r",
        b"PV1|1|O\r",
    ),
    *(b"OBR|1|||K\r", b"OBX|1|NM|K||5||||||F\r", b"ORC|NW\r", b"EVN||2026\r", b"ZZZ|1\r", b"NTE|1\r", b"TXA|1\r"),
    *(
        b"\\F\\",
        b"\\X0D0A\\",
        b"\\.br\\",
        b"\\.sp+3\\",
        b"\\H\\",
        b"\\E\\",
        b"\\Xzz\\",
        b"2.3",
        b"2.5.1",
        b"2.8.2",
        b"9.9",
    ),
    *(
        b"ADT^A01",
        b"ORU^R01^ORU_R01",
        b"ACK^A01^ACK",
        b"20260302",
        b"20260230",
        b"-1.5",
        b"9" * 30,
        b"NM",
        b"SN",
        b"8859/1",
    ),
    *(
        b"..",
        b"/",
        b"//",
        b".",
        b"a" * 300,
        b"\xff\xfe",
        b"\xe2\x80\xae",
        b"\xc3\xa9",
        b"\x85",
        b"\xe2\x80\xa8",
        b"[*]",
    ),
]


def mutated(data: bytes, others: list[bytes], rng: Random) -> bytes:
    """The same with a few changes."""
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        data = rng.choice(_CHANGES)(data, others, rng)
    return data[:LONGEST]


def _place(data: bytes, rng: Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 1, 2, 4, 16, 64)))


def _byte(data: bytes, others: list[bytes], rng: Random) -> bytes:
    start, _ = _place(data, rng)
    return data[:start] + bytes([rng.randrange(256)]) + data[start + 1 :]


def _word(data: bytes, others: list[bytes], rng: Random) -> bytes:
    start, end = _place(data, rng)
    return data[:start] + rng.choice(_WORDS) + data[rng.choice((start, end)) :]


def _cut(data: bytes, others: list[bytes], rng: Random) -> bytes:
    start, end = _place(data, rng)
    return data[:start] + data[end:]


def _again(data: bytes, others: list[bytes], rng: Random) -> bytes:
    start, end = _place(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 2, 20)) + data[end:]


def _lines(data: bytes, others: list[bytes], rng: Random) -> bytes:
    lines = data.split(b"\r")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]
    if rng.random() < 0.3:
        lines.insert(at, lines[other])
    return b"\r".join(lines)


def _other(data: bytes, others: list[bytes], rng: Random) -> bytes:
    other = rng.choice(others)
    start, _ = _place(data, rng)
    return data[:start] + other[rng.randrange(len(other) + 1) :]


_CHANGES = (_byte, _word, _word, _cut, _again, _lines, _other)
