"""A model behind a cassette, as one trial uses it in one role; how a question differs from the nearest recorded one."""

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar, cast

import orjson
from pydantic import BaseModel

from clerkship.kit.command_option import REFRESH_HINT
from clerkship.llm.contract import BadAnswer, Embeddings, Model, ModelAnswer, Question, is_instant
from clerkship.model.model_choice import ModelChoice
from clerkship.model.usage import NO_USAGE, Role
from clerkship.recording.cassette import (
    Cassette,
    CassetteEntry,
    RecordedEmbedding,
    RecordedMessage,
    RecordedModelCall,
    RecordedQuestion,
    RecordedTurn,
    TrialKey,
    content_key,
    pack_vector,
    remove_fence_codes,
    split_prompt,
    unpack_vector,
)
from clerkship.recording.session import DescribeNearest, NotRecorded, RecordingSession

MAX_LINES = 24
MAX_LINE_LENGTH = 240
MAX_COMPARED = 200
"""Recordings that are looked at closely."""
MAX_COMPARED_LENGTH = 1000
"""Signs of what differs that are compared with each other."""
_FIELD_NAMES = {
    "shape": "the shape of the answer",
    "parameters": "the model's parameters",
    "sample": "which sample it is",
}
T = TypeVar("T", bound=BaseModel)


def describe_nearest_question(
    wanted: Mapping[str, Any],
    texts: Sequence[str],
    talk: Sequence[RecordedMessage],
    role: Role,
    cassette: Cassette,
    used: Collection[str],
) -> str:
    """Describe how a question differs from the most similar recorded one.

    Among equally similar ones, an entry that the trial has not used is preferred: it is more likely the same
    question in an earlier version.
    """
    known = [entry for entry in cassette.entries.values() if isinstance(entry, RecordedQuestion)]
    if not known:
        return "; nothing is recorded there" if not cassette.entries else "; no question to a model is recorded there"
    written = {content_key(text): text for text in texts}
    prompt = "".join(written[key] for key in wanted["prompt"])
    near = _find_nearest(wanted, prompt, role, known, cassette, used)
    differs = [name for name, value in wanted.items() if getattr(near, name) != value]
    if differs == ["model"]:
        return f"; only the model differs: recorded with {near.model}, asked is {wanted['model']}"
    differences = [
        _describe_difference(name, near, wanted) for name in differs if name not in ("prompt", "orders", "talk")
    ]
    orders = "".join(written[key] for key in wanted["orders"])
    parts = {
        "orders": (cassette.whole(near.orders), orders),
        "talk": (_render_messages(cassette.talk(near.talk)), _render_messages(talk)),
        "prompt": (cassette.whole(near.prompt), prompt),
    }
    shown = "".join(render_diff(name, *parts[name]) for name in parts if name in differs)
    named = ", ".join((*differences, *(f"its {name}" for name in parts if name in differs)))
    whose = f"{near.of[0][0]!r}, trial {near.of[0][1]}"
    return f"; the nearest recorded request is of {whose}, and differs in {named}{shown}"


def describe_nearest_embedding(wanted: Mapping[str, Any], cassette: Cassette, used: Collection[str]) -> str:
    """Describe how texts to be embedded differ from the recorded ones."""
    known = [entry for entry in cassette.entries.values() if isinstance(entry, RecordedEmbedding)]
    same = [entry for entry in known if list(entry.given) == list(wanted["given"])]
    if same:
        return f"; only the model differs: recorded with {same[0].model}, asked is {wanted['model']}"
    return f"; {len(known)} lists of other texts are recorded there"


def _find_nearest(
    wanted: Mapping[str, Any],
    prompt: str,
    role: Role,
    known: Iterable[RecordedQuestion],
    cassette: Cassette,
    used: Collection[str],
) -> RecordedQuestion:
    parts = set(wanted["prompt"])
    ranked = sorted(
        known,
        key=lambda entry: (
            -_similarity_of_fields(entry, wanted, role),
            -len(parts.intersection(entry.prompt)),
            entry.key,
        ),
    )
    lines = prompt.splitlines()
    every = set(lines)

    def score(entry: RecordedQuestion) -> tuple[float, bool, float, str]:
        recorded = cassette.whole(entry.prompt).splitlines()
        others = set(recorded)
        shared = _similarity_of_fields(entry, wanted, role) + 3 * len(every & others) / max(len(every | others), 1)
        return shared, entry.key not in used, _similarity_of_changes(recorded, every, lines, others), entry.key

    return max(ranked[:MAX_COMPARED], key=score)


def _similarity_of_changes(
    recorded: Sequence[str], every: Collection[str], lines: Sequence[str], others: Collection[str]
) -> float:
    """Return how similar the differing lines of two prompts are, to find the one criterion that was reworded."""
    was = "\n".join(line for line in recorded if line not in every)[:MAX_COMPARED_LENGTH]
    now = "\n".join(line for line in lines if line not in others)[:MAX_COMPARED_LENGTH]
    return difflib.SequenceMatcher(None, was, now, autojunk=False).ratio()


def _similarity_of_fields(entry: RecordedQuestion, question: Mapping[str, Any], role: Role) -> float:
    same = sum(bool(getattr(entry, name) == value) for name, value in question.items())
    return float(same + 2 * bool(entry.prompt == question["prompt"]) + 2 * (entry.role == role))


def _describe_difference(name: str, near: RecordedQuestion, question: Mapping[str, Any]) -> str:
    if name == "shape":
        return _FIELD_NAMES[name]
    return f"{_FIELD_NAMES.get(name, f'the {name}')} (recorded {getattr(near, name)!r}, asked {question[name]!r})"


def _render_messages(talk: Iterable[RecordedMessage]) -> str:
    return "\n".join(f"{message.role}: {message.text}" for message in talk)


def render_diff(name: str, recorded: str, current: str) -> str:
    """Return how what is asked differs from what is recorded, on lines of its own."""
    diff = list(
        difflib.unified_diff(
            recorded.splitlines(), current.splitlines(), f"{name}, as recorded", f"{name}, as asked", n=1, lineterm=""
        )
    )
    lines = [_cut_line(line, diff) for line in diff[:MAX_LINES]]
    more = [f"… and {len(diff) - MAX_LINES} more lines"] if len(diff) > MAX_LINES else []
    return "".join(f"\n{line}" for line in (*lines, *more))


def _cut_line(line: str, diff: Sequence[str]) -> str:
    """Return the part of a long line where it begins to differ from the line on the other side that is most alike."""
    if len(line) <= MAX_LINE_LENGTH:
        return line
    sign = line[0]
    others = [other for other in diff if sign != other[0] != " "] if sign != " " else []
    equal = max((_count_equal(line[1:], other[1:]) for other in others), default=0)
    start = max(1, equal - MAX_LINE_LENGTH // 2)
    end = start + MAX_LINE_LENGTH - 1
    return f"{sign}{'…' * (start > 1)}{line[start:end]}{'…' * (end < len(line))}"


def _count_equal(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginnings."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


class CassetteLookup(NamedTuple):
    """A redacted question: its key, and what is recorded with the answer."""

    key: str
    fields: dict[str, Any]
    """What the key is a hash of; texts by their hashes."""
    texts: list[str]
    talk: list[RecordedMessage]
    what: Callable[[], str]
    """Names the question in an error."""
    explain: DescribeNearest


class RecordedModel:
    """Answers from the cassette. A missing answer is asked and recorded, or raises NotRecorded in a replay."""

    def __init__(self, session: RecordingSession, model: Model, role: Role, owner: TrialKey) -> None:
        self.name = model.name
        self.instant = is_instant(model)
        self._session, self._model, self._role, self._owner = session, model, role, owner
        self._identity = session.identities.get(role) or ModelChoice(who=model.name)
        self._redactor = session.redactor_for(owner[0])

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        lookup = self._lookup(question)
        recorded = cast(RecordedQuestion, self._answer(lookup, lambda: self._ask(question, lookup)))
        if recorded.failed:
            raise BadAnswer(self._redactor.show(recorded.failed), recorded.usage)
        data = question.shape.model_validate(self._redactor.show(recorded.answer))
        return ModelAnswer(data, self._redactor.show(recorded.by or recorded.model), recorded.usage)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the recorded vectors, or ask the model."""
        lookup = self._lookup_vectors([self._redactor.hide(text) for text in texts])
        recorded = cast(RecordedEmbedding, self._answer(lookup, lambda: self._embed(texts, lookup)))
        vectors = [unpack_vector(vector) for vector in recorded.vectors]
        return Embeddings(vectors, recorded.usage) if recorded.usage != NO_USAGE else vectors

    def close(self) -> None:
        """Do nothing: the model is shared."""

    def _answer(self, lookup: CassetteLookup, ask: Callable[[], CassetteEntry]) -> CassetteEntry:
        session, owner = self._session, self._owner
        with session.exclusively(lookup.key):
            entry = session.find(owner, lookup.key)
            if entry is None and session.replays:
                raise self._miss(lookup)
            if entry is None:
                with session.asking(owner):
                    entry = ask()
                session.put(owner, _without_retries(entry), lookup.texts, lookup.talk)
        return entry

    def _miss(self, lookup: CassetteLookup) -> NotRecorded:
        if self._role == "metrics":  # ratings decide nothing, so the trial is not errored
            return NotRecorded(f"not recorded: {lookup.what()}; {REFRESH_HINT}")
        return self._session.miss(self._owner, lookup.key, lookup.what(), lookup.explain)

    def _lookup(self, question: Question[T]) -> CassetteLookup:
        hide = self._redactor.hide
        orders, order_keys = _split_orders(hide(question.instructions))
        prompt = split_prompt(remove_fence_codes(hide(question.prompt)))
        shape = _render_schema(question.shape)
        talk = self._talk(question)
        fields = {
            "model": self._identity.who,
            "parameters": hide(dict(self._identity.parameters)),
            "orders": order_keys,
            "talk": talk[-1].key if talk else "",
            "prompt": tuple(content_key(piece) for piece in prompt),
            "shape": content_key(shape),
            "sample": question.sample,
        }
        texts = [*orders, *prompt, shape]
        about = f" about {question.about}" if question.about else ""
        return CassetteLookup(
            content_key(fields),
            fields,
            texts,
            talk,
            lambda: f"a question of {self._role}{about}, {_last_line(prompt)}",
            partial(describe_nearest_question, fields, texts, talk, self._role),
        )

    def _talk(self, question: Question[Any]) -> list[RecordedMessage]:
        talk: list[RecordedMessage] = []
        last = ""
        for line in question.talk:
            text = remove_fence_codes(self._redactor.hide(line.text))
            key = content_key([last, line.role, text])
            talk.append(RecordedMessage(key=key, role=line.role, text=text, after=last))
            last = talk[-1].key
        return talk

    def _lookup_vectors(self, texts: list[str]) -> CassetteLookup:
        model = f"{self._identity.who} {self._identity.embeddings}".strip()
        fields = {"model": model, "given": [content_key(text) for text in texts]}
        return CassetteLookup(
            content_key(fields),
            fields,
            texts,
            [],
            lambda: f"vectors that {self._role} asks for, of {texts[0][:80]!r}" if texts else "vectors of nothing",
            partial(describe_nearest_embedding, fields),
        )

    def _ask(self, question: Question[Any], lookup: CassetteLookup) -> RecordedQuestion:
        came: dict[str, Any]
        hide = self._redactor.hide
        try:
            answer = self._model.ask(question)
        except BadAnswer as bad:
            came = {"failed": hide(str(bad)) or "it gave no answer", "usage": bad.usage}
        else:
            by = hide(answer.model)
            came = {"answer": hide(answer.data.model_dump(mode="json", by_alias=True)), "usage": answer.usage}
            came["by"] = by if by != self._identity.who else ""
        return RecordedQuestion(
            key=lookup.key, of=(self._owner,), role=self._role, about=question.about, **lookup.fields, **came
        )

    def _embed(self, texts: Sequence[str], lookup: CassetteLookup) -> RecordedEmbedding:
        made = self._model.embed(texts)
        vectors = tuple(pack_vector(vector) for vector in made)
        usage = made.usage if isinstance(made, Embeddings) else NO_USAGE
        return RecordedEmbedding(
            key=lookup.key, of=(self._owner,), role=self._role, vectors=vectors, usage=usage, **lookup.fields
        )


def _without_retries(entry: CassetteEntry) -> CassetteEntry:
    """Return an entry without the requests that were sent again: the same answers give the same cassette."""
    if isinstance(entry, RecordedTurn | RecordedModelCall) or not entry.usage.retries:
        return entry
    return entry.model_copy(update={"usage": entry.usage.with_retries({})})


@lru_cache(64)
def _render_schema(shape: type[BaseModel]) -> str:
    """Return the JSON Schema of an answer as text; cached, because it takes longer than the rest of a lookup."""
    return orjson.dumps(Question("", shape).schema, option=orjson.OPT_SORT_KEYS).decode()


@lru_cache(64)
def _split_orders(orders: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the parts of a system prompt, and their hashes; cached, because many questions have the same."""
    cut = tuple(split_prompt(remove_fence_codes(orders)))
    return cut, tuple(content_key(piece) for piece in cut if piece)


def _last_line(prompt: Sequence[str]) -> str:
    """Return the end of a prompt, which is where questions differ."""
    line = next((line for line in reversed("".join(prompt).splitlines()) if line.strip()), "")
    return repr(line.strip() if len(line) <= 120 else f"{line.strip()[:120]}…")
