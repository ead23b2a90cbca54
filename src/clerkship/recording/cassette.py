"""A cassette: the recorded answers of models and agents, in a file beside the scenario.

It has one entry a line, sorted, in one byte form: two recordings of the same answers are the same file.

Texts are stored once each, by their hash, and the conversation before a question as a chain: a conversation of twenty
turns takes twenty lines, not two hundred. A key is a hash of what was asked, so that a line can be checked by itself.

See docs/decisions/0009-recording-and-replay.md.
"""

import base64
import hashlib
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import orjson
from pydantic import ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from clerkship.kit.atomic_write import write_atomically
from clerkship.model.errors import InputError, InputProblem, PlatformError
from clerkship.model.frozen import Frozen
from clerkship.model.usage import NO_USAGE, Role, Usage

VERSION = 1
TrialKey = tuple[str, int]
"""A task, and the number of one of its trials."""
_FENCE = re.compile(r"^(<<< .+) [0-9a-f]{16}$|(?<=.) [0-9a-f]{16}( >>>)$")
_REPAIR_HINT = "record it again with --record, or take the file as it was when it was last right"


def cassette_path(file: Path) -> Path:
    """Return the path of the cassette for a file of tasks."""
    return file.parent / "cassettes" / f"{file.stem}.jsonl"


def content_key(data: Any) -> str:
    """Return the hash of a text, or of data as canonical JSON."""
    raw = data.encode() if isinstance(data, str) else orjson.dumps(data, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(raw).hexdigest()[:32]


def split_prompt(text: str) -> list[str]:
    """Split a prompt where quoted sections begin and end, so that questions about one conversation share it."""
    if "<<< " not in text:
        return [text]
    cuts = sorted({0, len(text), *_find_offsets(text, "\n<<< ", 1), *_find_offsets(text, " >>>\n", len(" >>>\n"))})
    paragraphs: list[str] = []
    for start, end in pairwise(cuts):
        piece = text[start:end]
        if paragraphs and not piece.strip():
            paragraphs[-1] += piece
        else:
            paragraphs.append(piece)
    return paragraphs


def _find_offsets(text: str, mark: str, by: int) -> Iterator[int]:
    """Yield the offsets behind each mark; a regular expression would take twenty times as long."""
    place = text.find(mark)
    while place >= 0:
        yield place + by
        place = text.find(mark, place + 1)


def remove_fence_codes(text: str) -> str:
    """Remove the codes of fences: each is a hash of the fenced text before it was redacted."""
    if "<<< " not in text:
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("<<< ") or line.endswith(" >>>"):
            lines[number] = _FENCE.sub(r"\1\2", line)
    return "\n".join(lines)


class CassetteHeader(Frozen):
    """The first line of a cassette."""

    kind: Literal["cassette"] = "cassette"
    version: int


class StoredText(Frozen):
    """A text that entries refer to."""

    kind: Literal["text"] = "text"
    key: str
    text: str

    def hashed(self) -> Any:
        """Return what its key is a hash of."""
        return self.text


class RecordedMessage(Frozen):
    """An earlier message in the conversation before a question, and the key of the message before it."""

    kind: Literal["said"] = "said"
    key: str
    role: Literal["user", "assistant"]
    text: str
    after: str = ""

    def hashed(self) -> Any:
        """Return what its key is a hash of."""
        return [self.after, self.role, self.text]


class RecordedEntry(Frozen):
    """The common fields of all entries."""

    HASHED: ClassVar[tuple[str, ...]]
    TEXTS: ClassVar[tuple[str, ...]] = ()
    """The fields that refer to texts."""
    IS_OF_TRIAL: ClassVar[bool] = False
    """Whether another trial has another entry for the same."""
    key: str
    of: Annotated[tuple[TrialKey, ...], Field(min_length=1)]
    """The trials that asked."""

    def hashed(self) -> Any:
        """Return what its key is a hash of."""
        hashed = {name: getattr(self, name) for name in self.HASHED}
        return hashed | {"trial": self.of[0][1]} if self.IS_OF_TRIAL else hashed

    def keyed(self, **changed: Any) -> Self:
        """Return it with other fields, and with the key that it then has."""
        entry = self.model_copy(update=changed)
        return entry.model_copy(update={"key": content_key(entry.hashed())})

    def texts(self) -> Iterator[str]:
        """Yield the keys of the texts that it refers to."""
        for name in self.TEXTS:
            value = getattr(self, name)
            yield from (value,) if isinstance(value, str) else value


class RecordedQuestion(RecordedEntry):
    """A question to a model, and its answer."""

    HASHED = ("model", "parameters", "orders", "talk", "prompt", "shape", "sample")
    TEXTS = ("orders", "prompt", "shape")
    kind: Literal["exchange"] = "exchange"
    role: Role
    model: str
    parameters: dict[str, JsonValue] = {}
    orders: tuple[str, ...] = ()
    talk: str = ""
    """The key of the last line of the conversation before it."""
    prompt: tuple[str, ...]
    shape: str
    about: str = ""
    sample: str = ""
    answer: JsonValue = None
    failed: str = ""
    """What was wrong, if there was no answer of that shape."""
    by: str = ""
    """The model that answered, if it is not the name it was asked by."""
    usage: Usage = NO_USAGE


class RecordedEmbedding(RecordedEntry):
    """Texts, and their vectors."""

    HASHED = ("model", "given")
    TEXTS = ("given",)
    kind: Literal["embedding"] = "embedding"
    role: Role
    model: str
    given: tuple[str, ...]
    vectors: tuple[str, ...]
    """Each as the base64 of its little-endian doubles."""
    usage: Usage = NO_USAGE


class RecordedTurn(RecordedEntry):
    """What an agent did and said in one turn."""

    HASHED = ("solver", "content", "number", "heard", "after")
    IS_OF_TRIAL = True
    kind: Literal["turn"] = "turn"
    solver: str
    content: str
    """The hash of the task."""
    number: int
    """0 before the person's first line, -1 after the last turn."""
    heard: JsonValue
    """The message it was given."""
    after: str = ""
    """The key of the turn before."""
    acts: tuple[dict[str, JsonValue], ...] = ()
    """What it did to sandboxes and reported meanwhile, in order."""
    parts: tuple[dict[str, JsonValue], ...] = ()
    """What it returned: messages, and events of its own."""
    failed: str = ""
    """The agent's error, if it failed."""


class RecordedModelCall(RecordedEntry):
    """A call that an agent sent to a model through the run's proxy, and the response."""

    HASHED = ("provider", "operation", "request", "number")
    IS_OF_TRIAL = True
    TEXTS = ("request",)
    kind: Literal["call"] = "call"
    provider: str
    operation: str
    """The path of the operation; for Gemini it names the model."""
    request: tuple[str, ...]
    """The request in parts, without what differs in every run: its options, and each message and tool."""
    number: int = 1
    """Which of equal requests of the trial it is."""
    status: int
    media: str
    headers: dict[str, str] = {}
    response: str


CassetteEntry = RecordedQuestion | RecordedEmbedding | RecordedTurn | RecordedModelCall
_LINE: TypeAdapter[CassetteHeader | StoredText | RecordedMessage | CassetteEntry] = TypeAdapter(
    Annotated[
        CassetteHeader | StoredText | RecordedMessage | CassetteEntry,
        Field(discriminator="kind"),
    ],
    config=ConfigDict(defer_build=True),
)


class DamagedCassette(InputError):
    """A file is not a cassette that this version can read."""


class CassetteFailed(PlatformError):
    """A cassette could not be written."""


class Cassette:
    """The content of one file."""

    def __init__(self, path: Path, data: bytes | None = None) -> None:
        self.path = path
        self.texts: dict[str, str] = {}
        self.said: dict[str, RecordedMessage] = {}
        self.entries: dict[str, CassetteEntry] = {}
        self.digest = hashlib.sha256(data).hexdigest() if data is not None else ""
        """The hash of the file as it was read; empty if there was none."""
        self._is_damaged = data is not None

    @classmethod
    def load(cls, path: Path) -> "Cassette":
        """Load a cassette; return an empty one if there is no file. Raise DamagedCassette with file and line."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return cls(path)
        except OSError as error:
            raise InputError.of(f"it cannot be read: {error.strerror}", file=str(path)) from None
        cassette = cls(path, data)
        lines = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            if line or number < len(lines):
                cassette._add_line(number, line)
        cassette._check_references()
        cassette._is_damaged = False
        return cassette

    def _add_line(self, number: int, line: bytes) -> None:
        try:
            item = _LINE.validate_json(line)
        except ValidationError as error:
            raise self._damaged(number, _describe_flaw(line, error)) from None
        if isinstance(item, CassetteHeader) != (number == 1):
            raise self._damaged(number, "a cassette begins with one line that says its version")
        if isinstance(item, CassetteHeader):
            if item.version != VERSION:
                newer = f"it is of version {item.version}, and this reads {VERSION}"
                raise self._damaged(number, newer, "record it again with --record, or use the release that wrote it")
            return
        if item.key != content_key(item.hashed()):
            raise self._damaged(number, "its key does not fit what it says: it was changed by hand, or is damaged")
        match item:
            case StoredText():
                self.texts[item.key] = item.text
            case RecordedMessage():
                self.said[item.key] = item
            case _ if self.entries.setdefault(item.key, item) != item:
                raise self._damaged(number, "this was asked and answered in an earlier line, in another way")

    def _damaged(self, number: int, what: str, hint: str = _REPAIR_HINT) -> DamagedCassette:
        return DamagedCassette([InputProblem(file=str(self.path), line=number, column=1, message=what, hint=hint)])

    def _check_references(self) -> None:
        """Raise DamagedCassette if a referenced text is missing."""
        for entry in self.entries.values():
            talk = entry.talk if isinstance(entry, RecordedQuestion) else ""
            if any(text not in self.texts for text in entry.texts()) or (talk and talk not in self.said):
                raise DamagedCassette.of(f"a text of {entry.key} is missing", file=str(self.path), hint=_REPAIR_HINT)
        if any(message.after and message.after not in self.said for message in self.said.values()):
            raise DamagedCassette.of("a part of a talk is missing", file=str(self.path), hint=_REPAIR_HINT)

    def whole(self, keys: Iterable[str]) -> str:
        """Return a text, joined from its parts."""
        return "".join(self.texts[key] for key in keys)

    def talk(self, last: str) -> list[RecordedMessage]:
        """Return the conversation up to a message, oldest first."""
        messages: list[RecordedMessage] = []
        while last:
            messages.append(self.said[last])
            last = messages[-1].after
        return messages[::-1]

    def data(self) -> bytes:
        """Return the content of the file: header, referenced texts and messages, and entries, each sorted."""
        entries = sorted(self.entries.values(), key=_order)
        named = {text for entry in entries for text in entry.texts()}
        said: dict[str, RecordedMessage] = {}
        for entry in entries:
            last = entry.talk if isinstance(entry, RecordedQuestion) else ""
            while last and last not in said:
                said[last] = self.said[last]
                last = said[last].after
        items: list[Frozen] = [CassetteHeader(version=VERSION)]
        items += [StoredText(key=key, text=self.texts[key]) for key in sorted(named)]
        items += [said[key] for key in sorted(said)]
        return b"".join(_render_line(item) for item in (*items, *entries))

    def save(self) -> None:
        """Write the file atomically; without entries, remove it."""
        try:
            if not self.entries:
                if not self._is_damaged:
                    self.path.unlink(missing_ok=True)
                return
            self._merge_file()
            data = self.data()
            write_atomically(self.path, [data])
            self.digest, self._is_damaged = hashlib.sha256(data).hexdigest(), False
        except OSError as error:
            raise CassetteFailed(f"the cassette {self.path} cannot be written: {error.strerror}") from None
        except InputError as error:
            raise CassetteFailed(f"what was recorded is not written over what is there: {error}") from None

    def _merge_file(self) -> None:
        """Add what another process has written since the file was read."""
        if not self.path.exists() or hashlib.sha256(self.path.read_bytes()).hexdigest() == self.digest:
            return
        other = Cassette.load(self.path)
        self.texts, self.said = other.texts | self.texts, other.said | self.said
        self.entries = other.entries | self.entries


def pack_vector(vector: Sequence[float]) -> str:
    """Return a vector as text, exactly."""
    return base64.b64encode(struct.pack(f"<{len(vector)}d", *vector)).decode()


def unpack_vector(text: str) -> list[float]:
    """Return the vector of a text."""
    data = base64.b64decode(text)
    return list(struct.unpack(f"<{len(data) // 8}d", data))


def _order(entry: CassetteEntry) -> tuple[Any, ...]:
    """Sort by task and trial, so that what changes together is together in a diff."""
    if isinstance(entry, RecordedTurn):
        return (entry.of, "agent", entry.solver, entry.number, entry.key)
    if isinstance(entry, RecordedModelCall):
        return (entry.of, "agent", entry.provider, len(entry.request), entry.key)
    about = (entry.about, entry.sample) if isinstance(entry, RecordedQuestion) else ("", "")
    return (entry.of, entry.role, *about, entry.key)


def _render_line(item: Frozen) -> bytes:
    """Return the line of an item. Nested keys keep their order, so that a replay writes the same log."""
    data = {"kind": getattr(item, "kind", ""), **item.model_dump(mode="json", exclude_defaults=True)}
    return orjson.dumps(dict(sorted(data.items())), option=orjson.OPT_APPEND_NEWLINE)


def _describe_flaw(line: bytes, error: ValidationError) -> str:
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>")):
        return "it is the mark of a merge that was not finished"
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return f"it is no line of a cassette: {f'{place}: ' if place else ''}{first['msg']}"
