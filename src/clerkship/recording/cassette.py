"""A cassette: what models, and agents if asked, have answered, in a file beside the scenario. One line each, sorted, in
one byte form: two recordings of the same answers are the same file.

Texts are kept once each, by their hash, and what was said before a question as a chain: a talk of twenty turns takes
twenty lines, not two hundred. A key is a hash of what was asked, so that a line can be checked by itself.
"""

import base64
import contextlib
import hashlib
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from clerkship.model.frozen import Frozen
from clerkship.model.problem import InputError, PlatformError, Problem
from clerkship.model.usage import NOTHING_USED, Role, Usage

VERSION = 1
FOLDER = "cassettes"
SUFFIX = ".jsonl"
Owner = tuple[str, int]
"""A task and one of its trials."""
_FENCE = re.compile(r"^(<<< .+) [0-9a-f]{16}$|(?<=.) [0-9a-f]{16}( >>>)$")
_WHOLE = orjson.OPT_SORT_KEYS
_MEND = "record it again with --record, or take the file as it was when it was last right"


def address(data: Any) -> str:
    """The hash of a text, or of data in its one byte form."""
    raw = data.encode() if isinstance(data, str) else orjson.dumps(data, option=_WHOLE)
    return hashlib.sha256(raw).hexdigest()[:32]


def pieces(text: str) -> list[str]:
    """A prompt in parts, cut where quoted sections begin and end: several questions about one conversation share it."""
    if "<<< " not in text:
        return [text]
    cuts = sorted({0, len(text), *_after(text, "\n<<< ", 1), *_after(text, " >>>\n", len(" >>>\n"))})
    found: list[str] = []
    for start, end in pairwise(cuts):
        piece = text[start:end]
        if found and not piece.strip():
            found[-1] += piece
        else:
            found.append(piece)
    return found


def _after(text: str, sign: str, by: int) -> Iterator[int]:
    """Places so far behind the beginning of each sign; a pattern takes twenty times as long."""
    place = text.find(sign)
    while place >= 0:
        yield place + by
        place = text.find(sign, place + 1)


def unmarked(text: str) -> str:
    """Without the codes of fences: each is a hash of what it fences off, before anything was hidden there."""
    if "<<< " not in text:
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("<<< ") or line.endswith(" >>>"):
            lines[number] = _FENCE.sub(r"\1\2", line)
    return "\n".join(lines)


class Head(Frozen):
    """The first line of a file."""

    kind: Literal["cassette"] = "cassette"
    version: int


class Text(Frozen):
    """A text that others name."""

    kind: Literal["text"] = "text"
    key: str
    text: str


class Said(Frozen):
    """A line of the talk before a question, and the line before that."""

    kind: Literal["said"] = "said"
    key: str
    role: Literal["user", "assistant"]
    text: str
    after: str = ""


class Exchange(Frozen):
    """A question to a model, and what it answered."""

    kind: Literal["exchange"] = "exchange"
    key: str
    of: tuple[Owner, ...]
    role: Role
    model: str
    parameters: dict[str, JsonValue] = {}
    orders: tuple[str, ...] = ()
    talk: str = ""
    prompt: tuple[str, ...]
    shape: str
    about: str = ""
    sample: str = ""
    answer: JsonValue = None
    failed: str = ""
    """What was wrong, where there was no answer of that shape."""
    by: str = ""
    """Who answered, where that is not the name it was asked by."""
    usage: Usage = NOTHING_USED

    def asked(self) -> dict[str, Any]:
        """What its key is made of."""
        return {name: getattr(self, name) for name in _ASKED}

    def texts(self) -> Iterable[str]:
        """The texts it names."""
        return (*self.orders, *self.prompt, self.shape)


_ASKED = ("model", "parameters", "orders", "talk", "prompt", "shape", "sample")


class Embedding(Frozen):
    """Texts that a model made vectors of."""

    kind: Literal["embedding"] = "embedding"
    key: str
    of: tuple[Owner, ...]
    role: Role
    model: str
    given: tuple[str, ...]
    vectors: tuple[str, ...]
    """Each as the base64 of its doubles, the smallest byte first."""
    usage: Usage = NOTHING_USED

    def asked(self) -> dict[str, Any]:
        """What its key is made of."""
        return {"model": self.model, "given": self.given}

    def texts(self) -> Iterable[str]:
        """The texts it names."""
        return self.given


class Turn(Frozen):
    """What an agent did and said when it was told something."""

    kind: Literal["turn"] = "turn"
    key: str
    of: Annotated[tuple[Owner, ...], Field(min_length=1)]
    solver: str
    content: str
    """The task, by hash."""
    number: int
    """0 before the person's first line."""
    heard: JsonValue
    """What it was told."""
    after: str = ""
    """The key of the turn before."""
    acts: tuple[dict[str, JsonValue], ...] = ()
    """What it did to sandboxes and reported meanwhile, in order."""
    parts: tuple[dict[str, JsonValue], ...] = ()
    """What it gave back: something said, or an event of its own."""
    failed: str = ""
    """Its own failure, if that came of it."""

    def asked(self) -> dict[str, Any]:
        """What its key is made of."""
        told = {name: getattr(self, name) for name in ("solver", "content", "number", "heard", "after")}
        return told | {"trial": self.of[0][1]}

    def texts(self) -> Iterable[str]:
        """The texts it names: it has its own."""
        return ()


Entry = Exchange | Embedding | Turn
_LINE: TypeAdapter[Head | Text | Said | Entry] = TypeAdapter(
    Annotated[Head | Text | Said | Exchange | Embedding | Turn, Field(discriminator="kind")]
)


class DamagedCassette(InputError):
    """What is in a file is no cassette, or none that this release reads."""


class CassetteFailed(PlatformError):
    """A cassette could not be written."""


class Cassette:
    """One file, read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.texts: dict[str, str] = {}
        self.said: dict[str, Said] = {}
        self.entries: dict[str, Entry] = {}
        self.digest = ""
        """Of the file as it was read; nothing where there was none."""
        self._replaces = False
        """Whether it is to stand for a file that could not be made out."""

    @classmethod
    def load(cls, path: Path) -> "Cassette":
        """What is there; an empty one if nothing is. What is damaged is an input error with its line."""
        found = cls(path)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return found
        except OSError as error:
            raise InputError.of(f"it cannot be read: {error.strerror}", file=str(path)) from None
        found.digest = hashlib.sha256(data).hexdigest()
        lines = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            if line or number < len(lines):
                found._take(number, line)
        found._refuse_gaps()
        return found

    @classmethod
    def anew(cls, path: Path) -> "Cassette":
        """An empty one for a file that is there and cannot be made out. That stays until something else is written."""
        found = cls(path)
        found.digest, found._replaces = hashlib.sha256(path.read_bytes()).hexdigest(), True
        return found

    def _take(self, number: int, line: bytes) -> None:
        try:
            item = _LINE.validate_json(line)
        except ValidationError as error:
            raise self._damaged(number, _flaw(line, error)) from None
        if isinstance(item, Head) != (number == 1):
            raise self._damaged(number, "a cassette begins with one line that says its version")
        match item:
            case Head():
                if item.version != VERSION:
                    newer = f"it is of version {item.version}, and this reads {VERSION}"
                    raise self._damaged(
                        number, newer, "record it again with --record, or use the release that wrote it"
                    )
            case Text():
                self._sound(number, item.key, address(item.text))
                self.texts[item.key] = item.text
            case Said():
                self._sound(number, item.key, said_key(item.after, item.role, item.text))
                self.said[item.key] = item
            case _:
                self._sound(number, item.key, address(item.asked()))
                if self.entries.setdefault(item.key, item) != item:
                    raise self._damaged(number, "this was asked and answered in an earlier line, in another way")

    def _sound(self, number: int, key: str, found: str) -> None:
        if key != found:
            raise self._damaged(number, "its key does not fit what it says: it was changed by hand, or is damaged")

    def _damaged(self, number: int, what: str, hint: str = _MEND) -> DamagedCassette:
        return DamagedCassette([Problem(file=str(self.path), line=number, column=1, message=what, hint=hint)])

    def _refuse_gaps(self) -> None:
        """Every text that is named must be there."""
        for entry in self.entries.values():
            talk = entry.talk if isinstance(entry, Exchange) else ""
            if any(text not in self.texts for text in entry.texts()) or (talk and talk not in self.said):
                raise DamagedCassette.of(f"a text of {entry.key} is missing", file=str(self.path), hint=_MEND)
        if any(said.after and said.after not in self.said for said in self.said.values()):
            raise DamagedCassette.of("a part of a talk is missing", file=str(self.path), hint=_MEND)

    def keep(self, text: str) -> str:
        """Have a text; its hash."""
        key = address(text)
        self.texts[key] = text
        return key

    def whole(self, keys: Iterable[str]) -> str:
        """A text from its parts."""
        return "".join(self.texts[key] for key in keys)

    def talk(self, last: str) -> list[Said]:
        """What was said up to a line, oldest first."""
        found: list[Said] = []
        while last:
            found.append(self.said[last])
            last = found[-1].after
        return found[::-1]

    def data(self) -> bytes:
        """The file: its head, the texts that are named, what was said, and every entry, each in its order."""
        entries = sorted(self.entries.values(), key=_order)
        named = {text for entry in entries for text in entry.texts()}
        talked = self._talked(entry.talk for entry in entries if isinstance(entry, Exchange))
        items: list[Frozen] = [Head(version=VERSION)]
        items += [Text(key=key, text=self.texts[key]) for key in sorted(named)]
        items += [self.said[key] for key in sorted(talked)]
        return b"".join(_written(item) for item in (*items, *entries))

    def _talked(self, lasts: Iterable[str]) -> set[str]:
        found: set[str] = set()
        for last in lasts:
            line = last
            while line and line not in found:
                found.add(line)
                line = self.said[line].after
        return found

    def save(self) -> None:
        """Write it whole, or leave what is there; one without entries is no file."""
        try:
            if not self.entries:
                if not self._replaces:
                    self.path.unlink(missing_ok=True)
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._join()
            data = self.data()
            _replace(self.path, data)
            self._replaces = False
            self.digest = hashlib.sha256(data).hexdigest()
        except OSError as error:
            raise CassetteFailed(f"the cassette {self.path} cannot be written: {error.strerror}") from None
        except InputError as error:
            raise CassetteFailed(f"what was recorded is not written over what is there: {error}") from None

    def _join(self) -> None:
        """Another process may have recorded meanwhile: what it has and we have not is kept."""
        if not self.path.exists() or hashlib.sha256(self.path.read_bytes()).hexdigest() == self.digest:
            return
        other = Cassette.load(self.path)
        self.texts, self.said = other.texts | self.texts, other.said | self.said
        self.entries = other.entries | self.entries


def cassette_of(file: Path) -> Path:
    """Where what is recorded for the tasks of a file goes: in a folder beside it."""
    return file.parent / FOLDER / f"{file.stem}{SUFFIX}"


def said_key(after: str, role: str, text: str) -> str:
    """The key of a line of talk."""
    return address([after, role, text])


def packed(vector: Sequence[float]) -> str:
    """A vector as text, exactly."""
    return base64.b64encode(struct.pack(f"<{len(vector)}d", *vector)).decode()


def unpacked(text: str) -> list[float]:
    """A vector from its text."""
    data = base64.b64decode(text)
    return list(struct.unpack(f"<{len(data) // 8}d", data))


def _order(entry: Entry) -> tuple[Any, ...]:
    """By task and trial, so that what changes together stands together."""
    if isinstance(entry, Turn):
        return (entry.of, "agent", entry.solver, entry.number, entry.key)
    about = (entry.about, entry.sample) if isinstance(entry, Exchange) else ("", "")
    return (entry.of, entry.role, *about, entry.key)


def _written(item: Frozen) -> bytes:
    """Return the line of an entry. Nested keys keep their order, so that a replay writes the same log."""
    data = {"kind": getattr(item, "kind", ""), **item.model_dump(mode="json", exclude_defaults=True)}
    return orjson.dumps(dict(sorted(data.items())), option=orjson.OPT_APPEND_NEWLINE)


def _replace(path: Path, data: bytes) -> None:
    """Under a name of its own first: whoever reads has the old file or the new one, and never half of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _flaw(line: bytes, error: ValidationError) -> str:
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>")):
        return "it is the mark of a merge that was not finished"
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return f"it is no line of a cassette: {f'{place}: ' if place else ''}{first['msg']}"
