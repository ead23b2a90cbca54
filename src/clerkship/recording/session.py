"""Recording and replaying a run: every model of it, as one trial asks it, with cassettes between them."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import orjson
from pydantic import BaseModel, JsonValue

from clerkship.llm.contract import Answer, BadAnswer, Model, Question, Vectors, is_instant
from clerkship.model.frozen import Frozen
from clerkship.model.problem import ClerkshipError, Problem
from clerkship.model.run import Tape
from clerkship.model.usage import NOTHING_USED, Role
from clerkship.recording.cassette import (
    Cassette,
    CassetteFailed,
    DamagedCassette,
    Embedding,
    Entry,
    Exchange,
    Owner,
    Said,
    address,
    packed,
    pieces,
    said_key,
    unmarked,
    unpacked,
)
from clerkship.recording.nearest import explain, explain_vectors
from clerkship.recording.redaction import Veil

T = TypeVar("T", bound=BaseModel)


MEND = "--refresh records what is missing, and nothing else"


class NotRecorded(ClerkshipError):
    """What is asked is on no cassette, and nobody is to be asked."""


class Part(NamedTuple):
    """A model, as cassettes know it: the same name wherever it is asked."""

    name: str
    parameters: Mapping[str, JsonValue] = {}
    vectors: str = ""
    """Who makes vectors of texts."""

    @property
    def vector_name(self) -> str:
        """As it is known where it makes vectors."""
        return f"{self.name} {self.vectors}".strip()


class Spot(NamedTuple):
    """Which trial of which task asks, and where what it is told is kept."""

    source: str
    task: str
    trial: int

    @property
    def owner(self) -> Owner:
        """Whose recording it is."""
        return self.task, self.trial

    def __str__(self) -> str:
        """For messages."""
        return f"{self.task!r}, trial {self.trial}"


class Told(Frozen):
    """What came of recording, or of replaying."""

    mode: Tape
    replayed: int = 0
    """Exchanges that were taken from cassettes."""
    written: int = 0
    """Exchanges that were asked, and taken down."""
    dropped: int = 0
    """Exchanges that nobody asked for any more, and that were taken out."""
    forgotten: int = 0
    """Exchanges with a person who fell out of their role: asked, and not kept."""
    unused: int = 0
    """Exchanges of these tasks and trials that are on cassettes, and were not asked for."""
    files: tuple[str, ...] = ()
    failed: str = ""
    """Why what was recorded could not be written."""
    missed: int = 0
    """Trials that asked for what is on no cassette."""
    first_miss: str = ""


@dataclass
class Tapes:
    """All the cassettes of a run, each read once. Threads may come as they like."""

    mode: Tape
    place: Callable[[str], Path]
    """The cassette of a task's file."""
    parts: Mapping[Role, Part] = field(default_factory=dict)
    veil: Veil = field(default_factory=Veil)
    solver: str = ""
    """The agent whose answers are taken down, or played, if any are."""
    begins_anew: bool = False
    """Whether a cassette that is damaged, or of another version, is recorded anew instead of being refused."""
    warnings: list[Problem] = field(default_factory=list)
    """What is said of those."""

    def __post_init__(self) -> None:
        self._gate = threading.RLock()
        self._asking: dict[str, threading.Lock] = {}
        self._cassettes: dict[str, Cassette] = {}
        self._dirty: set[Path] = set()
        self._fresh: set[tuple[Path, str]] = set()
        """What was asked and taken down in this run."""
        self._before: dict[tuple[Path, str], Entry | None] = {}
        """What stood there before."""
        self._used: dict[Path, set[tuple[str, Owner]]] = {}
        self._ended: dict[Path, set[tuple[Owner, str]]] = {}
        """Trials that came to their end, with the roles in which they would have asked."""
        self._misses: dict[Owner, dict[tuple[str, str], tuple[Spot, Callable[[Cassette], str]]]] = {}
        self._missed: dict[Owner, str] = {}
        """What is told of them."""
        self._refused: dict[Owner, str] = {}
        self._spoiled: set[Owner] = set()
        """Trials in which somebody could not be asked: what they would have asked is not known."""
        self._replayed = self._dropped = self._forgotten = 0

    def cassette(self, source: str) -> Cassette:
        """The cassette of a task's file."""
        with self._gate:
            if source not in self._cassettes:
                path = self.place(source)
                known = next((known for known in self._cassettes.values() if known.path == path), None)
                self._cassettes[source] = known or self._load(path)
            return self._cassettes[source]

    def _load(self, path: Path) -> Cassette:
        try:
            return Cassette.load(path)
        except DamagedCassette as damaged:
            if not self.begins_anew:
                raise
            hint = "it is recorded anew: all that it has goes when something is written"
            self.warnings += [problem.model_copy(update={"hint": hint}) for problem in damaged.problems]
            return Cassette.anew(path)

    def model(self, model: Model, role: Role, spot: Spot, names: Mapping[str, str]) -> "Taped":
        """A model, as one trial asks it in one role."""
        part = self.parts.get(role) or Part(model.name)
        return Taped(self, model, role, part, spot, self.veil.over(names))

    @contextmanager
    def alone_with(self, key: str) -> Iterator[None]:
        """Whoever asks the same at the same time waits for the answer."""
        if self.mode == "replay":
            yield
            return
        with self._gate:
            lock = self._asking.setdefault(key, threading.Lock())
        with lock:
            yield

    def find(self, spot: Spot, key: str) -> Entry | None:
        """What is there to be used: all there is; but of a recording only what is of this run."""
        cassette = self.cassette(spot.source)
        with self._gate:
            found = cassette.entries.get(key)
            if found is None or (self.mode == "record" and (cassette.path, key) not in self._fresh):
                return None
            self._replayed += (cassette.path, key) not in self._fresh
            self._use(cassette, found, spot)
            return found

    def has(self, spot: Spot, key: str) -> bool:
        """Whether something is there; it is of use then."""
        cassette = self.cassette(spot.source)
        with self._gate:
            found = cassette.entries.get(key)
            if found is not None:
                self._use(cassette, found, spot)
            return found is not None

    def put(self, spot: Spot, entry: Entry) -> None:
        """Take one down; it stands for what was there by its key."""
        cassette = self.cassette(spot.source)
        with self._gate:
            before = cassette.entries.get(entry.key)
            self._before.setdefault((cassette.path, entry.key), before)
            if before is not None and before.of != entry.of:  # others have asked the same before
                entry = entry.model_copy(update={"of": tuple(sorted({*before.of, *entry.of}))})
            cassette.entries[entry.key] = entry
            self._fresh.add((cassette.path, entry.key))
            self._dirty.add(cassette.path)
            self._used.setdefault(cassette.path, set()).add((entry.key, spot.owner))

    def _use(self, cassette: Cassette, entry: Entry, spot: Spot) -> None:
        self._used.setdefault(cassette.path, set()).add((entry.key, spot.owner))
        if spot.owner not in entry.of and self.mode != "replay":
            owners = tuple(sorted({*entry.of, spot.owner}))
            cassette.entries[entry.key] = entry.model_copy(update={"of": owners})
            self._dirty.add(cassette.path)

    def used(self, spot: Spot) -> set[str]:
        """What a trial has had use for, by key."""
        path = self.cassette(spot.source).path
        with self._gate:
            return {key for key, owner in self._used.get(path, ()) if owner == spot.owner}

    def keep(self, spot: Spot, texts: Sequence[str]) -> None:
        """Have texts that an entry names."""
        cassette = self.cassette(spot.source)
        with self._gate:
            for text in texts:
                cassette.keep(text)

    def keep_said(self, spot: Spot, talk: Sequence[Said]) -> None:
        """Have what was said before a question."""
        cassette = self.cassette(spot.source)
        with self._gate:
            cassette.said.update((said.key, said) for said in talk)

    def miss(self, spot: Spot, key: str, what: str, why: Callable[[Cassette], str]) -> NotRecorded:
        """What is said of something that is on no cassette. Several may be missed at once: which is told of does not
        depend on who was faster."""
        with self._gate:
            self._misses.setdefault(spot.owner, {}).setdefault((what, key), (spot, why))
        return NotRecorded(f"not recorded: {what}, in {spot}")

    def refuse(self, spot: Spot, why: str) -> None:
        """A trial cannot be recorded."""
        with self._gate:
            self._refused.setdefault(spot.owner, why)

    def missed(self, task: str, trial: int) -> str:
        """What a trial asked for that is on no cassette, or why it cannot be recorded; mostly nothing."""
        owner = (task, trial)
        if owner not in self._misses:
            return self._refused.get(owner, "") if self._refused else ""
        with self._gate:
            if owner not in self._missed:
                what, key = min(self._misses[owner])
                spot, why = self._misses[owner][what, key]
                cassette = self.cassette(spot.source)
                near = why(cassette)
                self._missed[owner] = f"not recorded: {what}, in {spot}; it is not in {cassette.path}{near}\n{MEND}"
            return self._missed[owner]

    def ended(self, spot: Spot, roles: Collection[str]) -> None:
        """A trial came to its end: what it would have asked in these roles and did not is of no use any more."""
        path = self.cassette(spot.source).path
        with self._gate:
            if spot.owner in self._spoiled:
                return
            self._ended.setdefault(path, set()).update((spot.owner, role) for role in roles)

    def forget(self, spot: Spot) -> None:
        """The person of a trial fell out of their role: what they said is no recording to go by, and what was there
        before stays."""
        cassette = self.cassette(spot.source)
        with self._gate:
            fresh = [key for path, key in self._fresh if path == cassette.path]
            for key in fresh:
                entry, before = cassette.entries[key], self._before[cassette.path, key]
                if not isinstance(entry, Exchange) or entry.role != "person" or spot.owner not in entry.of:
                    continue
                self._fresh.discard((cassette.path, key))
                self._dirty.add(cassette.path)  # it may have been written meanwhile
                self._forgotten += 1
                if before is None:
                    del cassette.entries[key]
                else:
                    cassette.entries[key] = before

    @contextmanager
    def asking(self, spot: Spot) -> Iterator[None]:
        """Around a question that is really asked: where nobody answers, nothing is known of what comes after."""
        try:
            yield
        except BadAnswer:
            raise
        except BaseException:
            self._spoiled.add(spot.owner)
            raise

    def save(self) -> None:
        """Write what is new, as it stands."""
        with self._gate:
            cassettes = {cassette.path: cassette for cassette in self._cassettes.values()}
            for path in sorted(self._dirty):
                cassettes[path].save()
                self._dirty.discard(path)

    def finish(self, *, whole: bool, known: Collection[str] | None = None, trials: int | None = None) -> Told:
        """The run is over; whether it came to its end, which tasks there are, and how often each was to be run. What is
        stale goes, if it did."""
        with self._gate:
            if self.mode == "record" and whole:
                self._drop(known, trials)
            try:
                self.save()
            except CassetteFailed as error:
                return self._told(str(error))
            return self._told()

    def _drop(self, known: Collection[str] | None, trials: int | None) -> None:
        for cassette in {id(cassette): cassette for cassette in self._cassettes.values()}.values():
            ended = self._ended.get(cassette.path, set())
            for key, entry in list(cassette.entries.items()) if ended else ():
                left = tuple(
                    owner
                    for owner in entry.of
                    if not self._is_stale(cassette, entry, owner)
                    and not self._is_beyond(cassette, entry, owner, trials)
                    and (known is None or owner[0] in known)
                )
                if left == entry.of:
                    continue
                self._dirty.add(cassette.path)
                if left:
                    cassette.entries[key] = entry.model_copy(update={"of": left})
                else:
                    del cassette.entries[key]
                    self._dropped += 1

    def _is_stale(self, cassette: Cassette, entry: Entry, owner: Owner) -> bool:
        role, used = _role(entry), self._used.get(cassette.path, set())
        return (owner, role) in self._ended.get(cassette.path, set()) and (entry.key, owner) not in used

    def _is_beyond(self, cassette: Cassette, entry: Entry, owner: Owner, trials: int | None) -> bool:
        """Whether it is of a trial that there is no more, of a task whose trials all came to their end."""
        (task, trial), role, ended = owner, _role(entry), self._ended.get(cassette.path, set())
        if trials is None or trial <= trials:
            return False
        return all(((task, number), role) in ended for number in range(1, trials + 1))

    def _told(self, failed: str = "") -> Told:
        cassettes = {cassette.path: cassette for cassette in self._cassettes.values()}
        unused = sum(
            self._is_stale(cassette, entry, owner)
            for cassette in cassettes.values()
            for entry in cassette.entries.values()
            for owner in entry.of
        )
        return Told(
            mode=self.mode,
            replayed=self._replayed,
            written=len(self._fresh),
            dropped=self._dropped,
            forgotten=self._forgotten,
            unused=unused if self.mode != "record" else 0,
            files=tuple(sorted(str(path) for path, cassette in cassettes.items() if cassette.entries)),
            failed=failed,
            missed=len(self._misses),
            first_miss=self.missed(*min(self._misses)) if self._misses else "",
        )


def _role(entry: Entry) -> str:
    """Who was asked."""
    return entry.role if isinstance(entry, Exchange | Embedding) else f"agent {entry.solver}"


class Asked(NamedTuple):
    """A question as it may be written down, with its key."""

    key: str
    fields: dict[str, Any]
    """What the key is made of: texts by their hashes."""
    texts: list[str]
    talk: list[Said]
    about: str
    prompt: str


_SHAPES: WeakKeyDictionary[type[BaseModel], str] = WeakKeyDictionary()


def _shape(shape: type[BaseModel]) -> str:
    """The schema, written down; found once, for it takes longer than all the rest."""
    known = _SHAPES.get(shape)
    if known is None:
        known = _SHAPES[shape] = orjson.dumps(Question("", shape).schema, option=orjson.OPT_SORT_KEYS).decode()
    return known


@lru_cache(64)
def _cut(orders: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Standing orders in pieces, and where each is kept: the same for every question of a sort."""
    cut = tuple(pieces(unmarked(orders)))
    return cut, tuple(address(piece) for piece in cut if piece)


class Taped:
    """A model with a cassette in front of it, as one trial asks it in one role."""

    def __init__(self, tapes: Tapes, model: Model, role: Role, part: Part, spot: Spot, veil: Veil) -> None:
        self.name = model.name
        self.instant = is_instant(model)
        self._tapes, self._model, self._role, self._part, self._spot, self._veil = tapes, model, role, part, spot, veil

    def ask(self, question: Question[T]) -> Answer[T]:
        """As it was answered before; or ask, and take it down."""
        asked = self._asked(question)
        with self._tapes.alone_with(asked.key):
            found = self._tapes.find(self._spot, asked.key)
            if not isinstance(found, Exchange):
                found = self._ask(question, asked)
        return self._answer(found, question)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """As `ask`."""
        given = [self._veil.hide(text) for text in texts]
        asked = {"model": self._part.vector_name, "given": [address(text) for text in given]}
        key = address(asked)
        with self._tapes.alone_with(key):
            found = self._tapes.find(self._spot, key)
            if not isinstance(found, Embedding):
                found = self._embed(texts, given, {"key": key, **asked})
        vectors = [unpacked(vector) for vector in found.vectors]
        return Vectors(vectors, found.usage) if found.usage != NOTHING_USED else vectors

    def close(self) -> None:
        """Nothing: the model is others' too."""

    def _asked(self, question: Question[Any]) -> Asked:
        hide = self._veil.hide
        orders, ordered = _cut(hide(question.orders))
        prompt = pieces(unmarked(hide(question.prompt)))
        shape = _shape(question.shape)
        talk: list[Said] = []
        last = ""
        for line in question.talk:
            text = unmarked(hide(line.text))
            talk.append(Said(key=said_key(last, line.role, text), role=line.role, text=text, after=last))
            last = talk[-1].key
        fields = {
            "model": self._part.name,
            "parameters": hide(dict(self._part.parameters)),
            "orders": ordered,
            "talk": last,
            "prompt": tuple(address(piece) for piece in prompt),
            "shape": address(shape),
            "sample": question.sample,
        }
        return Asked(address(fields), fields, [*orders, *prompt, shape], talk, question.about, "".join(prompt))

    def _ask(self, question: Question[Any], asked: Asked) -> Exchange:
        if self._tapes.mode == "replay":
            about = f" about {asked.about}" if asked.about else ""
            what = f"a question of {self._role}{about}, {_last(asked.prompt)}"
            if self._role == "metrics":  # decides nothing, and so does not spoil the trial
                raise NotRecorded(f"not recorded: {what}; {MEND}")
            raise self._tapes.miss(
                self._spot,
                asked.key,
                what,
                lambda cassette: explain(
                    asked.fields, asked.texts, asked.talk, self._role, cassette, self._tapes.used(self._spot)
                ),
            )
        came: dict[str, Any] = {}
        try:
            with self._tapes.asking(self._spot):
                answer = self._model.ask(question)
        except BadAnswer as bad:
            came = {"failed": self._veil.hide(str(bad)) or "it gave no answer", "usage": bad.usage}
        else:
            by = self._veil.hide(answer.model)
            came = {"answer": self._veil.hide(answer.data.model_dump(mode="json", by_alias=True))}
            came |= {"usage": answer.usage, "by": by if by != self._part.name else ""}
        self._tapes.keep(self._spot, asked.texts)
        self._tapes.keep_said(self._spot, asked.talk)
        exchange = Exchange(
            key=asked.key, of=(self._spot.owner,), role=self._role, about=asked.about, **asked.fields, **came
        )
        self._tapes.put(self._spot, exchange)
        return exchange

    def _embed(self, texts: Sequence[str], given: list[str], asked: dict[str, Any]) -> Embedding:
        if self._tapes.mode == "replay":
            what = f"vectors that {self._role} asks for, of {given[0][:80]!r}" if given else "vectors of nothing"
            raise self._tapes.miss(self._spot, asked["key"], what, lambda cassette: explain_vectors(asked, cassette))
        with self._tapes.asking(self._spot):
            made = self._model.embed(texts)
        self._tapes.keep(self._spot, given)
        usage = made.usage if isinstance(made, Vectors) else NOTHING_USED
        vectors = tuple(packed(vector) for vector in made)
        found = Embedding(of=(self._spot.owner,), role=self._role, vectors=vectors, usage=usage, **asked)
        self._tapes.put(self._spot, found)
        return found

    def _answer(self, found: Exchange, question: Question[T]) -> Answer[T]:
        if found.failed:
            raise BadAnswer(self._veil.show(found.failed), found.usage)
        data = question.shape.model_validate(self._veil.show(found.answer))
        return Answer(data, self._veil.show(found.by or found.model), found.usage)


def _last(prompt: str) -> str:
    """The end of a prompt, where what differs between questions stands."""
    line = next((line for line in reversed(prompt.splitlines()) if line.strip()), "")
    return repr(line.strip() if len(line) <= 120 else f"{line.strip()[:120]}…")
