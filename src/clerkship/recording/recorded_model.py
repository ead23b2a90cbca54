"""A model behind a cassette, as one trial uses it in one role; how a question differs from the nearest recorded one."""

import difflib
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache, partial
from os.path import commonprefix
from typing import Any, Generic, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel

from clerkship.kit.command_option import REFRESH_HINT
from clerkship.llm.contract import BadAnswer, Embeddings, Model, ModelAnswer, Question, is_instant
from clerkship.model.model_choice import ModelChoice
from clerkship.model.usage import NO_USAGE, Role
from clerkship.recording.cassette import (
    Cassette,
    RecordedEmbedding,
    RecordedMessage,
    RecordedQuestion,
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
E = TypeVar("E", RecordedQuestion, RecordedEmbedding)
T = TypeVar("T", bound=BaseModel)


def describe_nearest_question(
    wanted: RecordedQuestion,
    texts: Sequence[str],
    talk: Sequence[RecordedMessage],
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
    prompt, orders = ("".join(written[key] for key in keys) for keys in (wanted.prompt, wanted.orders))
    near = _find_nearest(wanted, prompt, known, cassette, used)
    differs = [name for name in wanted.HASHED if getattr(near, name) != getattr(wanted, name)]
    if differs == ["model"]:
        return f"; only the model differs: recorded with {near.model}, asked is {wanted.model}"
    parts = {
        "orders": (cassette.whole(near.orders), orders),
        "talk": (_render_messages(cassette.talk(near.talk)), _render_messages(talk)),
        "prompt": (cassette.whole(near.prompt), prompt),
    }
    differences = [_describe_difference(name, near, wanted) for name in differs if name not in parts]
    shown = "".join(render_diff(name, *parts[name]) for name in parts if name in differs)
    named = ", ".join((*differences, *(f"its {name}" for name in parts if name in differs)))
    whose = f"{near.of[0][0]!r}, trial {near.of[0][1]}"
    return f"; the nearest recorded request is of {whose}, and differs in {named}{shown}"


def describe_nearest_embedding(wanted: RecordedEmbedding, cassette: Cassette, used: Collection[str]) -> str:
    """Describe how texts to be embedded differ from the recorded ones."""
    known = [entry for entry in cassette.entries.values() if isinstance(entry, RecordedEmbedding)]
    same = [entry for entry in known if entry.given == wanted.given]
    if same:
        return f"; only the model differs: recorded with {same[0].model}, asked is {wanted.model}"
    return f"; {len(known)} lists of other texts are recorded there"


def _find_nearest(
    wanted: RecordedQuestion,
    prompt: str,
    known: Iterable[RecordedQuestion],
    cassette: Cassette,
    used: Collection[str],
) -> RecordedQuestion:
    parts, lines = set(wanted.prompt), prompt.splitlines()
    every = set(lines)

    def rank(entry: RecordedQuestion) -> tuple[float, int, str]:
        return -_similarity_of_fields(entry, wanted), -len(parts.intersection(entry.prompt)), entry.key

    def score(entry: RecordedQuestion) -> tuple[float, bool, float, str]:
        recorded = cassette.whole(entry.prompt).splitlines()
        others = set(recorded)
        shared = _similarity_of_fields(entry, wanted) + 3 * len(every & others) / max(len(every | others), 1)
        return shared, entry.key not in used, _similarity_of_changes(recorded, every, lines, others), entry.key

    return max(sorted(known, key=rank)[:MAX_COMPARED], key=score)


def _similarity_of_changes(
    recorded: Sequence[str], every: Collection[str], lines: Sequence[str], others: Collection[str]
) -> float:
    """Return how similar the differing lines of two prompts are, to find the one criterion that was reworded."""
    was = "\n".join(line for line in recorded if line not in every)[:MAX_COMPARED_LENGTH]
    now = "\n".join(line for line in lines if line not in others)[:MAX_COMPARED_LENGTH]
    return difflib.SequenceMatcher(None, was, now, autojunk=False).ratio()


def _similarity_of_fields(entry: RecordedQuestion, wanted: RecordedQuestion) -> float:
    same = sum(bool(getattr(entry, name) == getattr(wanted, name)) for name in wanted.HASHED)
    return float(same + 2 * (entry.prompt == wanted.prompt) + 2 * (entry.role == wanted.role))


def _describe_difference(name: str, near: RecordedQuestion, wanted: RecordedQuestion) -> str:
    if name == "shape":
        return _FIELD_NAMES[name]
    return (
        f"{_FIELD_NAMES.get(name, f'the {name}')} (recorded {getattr(near, name)!r}, asked {getattr(wanted, name)!r})"
    )


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
    equal = max((len(commonprefix((line[1:], other[1:]))) for other in others), default=0)  # noqa: RUF071  (texts, not paths)
    start = max(1, equal - MAX_LINE_LENGTH // 2)
    end = start + MAX_LINE_LENGTH - 1
    return f"{sign}{'…' * (start > 1)}{line[start:end]}{'…' * (end < len(line))}"


class Lookup(NamedTuple, Generic[E]):
    """A redacted question, and what is recorded with the answer."""

    entry: E
    """Without the answer."""
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
        """Return the recorded answer, or ask the model."""
        recorded = self._answer(self._lookup(question), lambda: self._ask(question))
        if recorded.failed:
            raise BadAnswer(self._redactor.show(recorded.failed), recorded.usage)
        data = question.shape.model_validate(self._redactor.show(recorded.answer))
        return ModelAnswer(data, self._redactor.show(recorded.by or recorded.model), recorded.usage)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the recorded vectors, or ask the model."""
        lookup = self._lookup_vectors([self._redactor.hide(text) for text in texts])
        recorded = self._answer(lookup, lambda: self._embed(texts))
        vectors = [unpack_vector(vector) for vector in recorded.vectors]
        return Embeddings(vectors, recorded.usage) if recorded.usage != NO_USAGE else vectors

    def close(self) -> None:
        """Do nothing: the model is shared."""

    def _answer(self, lookup: Lookup[E], ask: Callable[[], dict[str, Any]]) -> E:
        """Return what is recorded; if nothing is, ask, and record the answer without the requests that were sent again:
        the same answers give the same cassette.
        """
        session, owner = self._session, self._owner
        with session.exclusively(lookup.entry.key):
            entry = session.find(owner, lookup.entry)
            if entry is not None:
                return entry
            if session.replays:
                raise self._miss(lookup)
            try:
                came = ask()
            except BaseException as error:
                if not isinstance(error, BadAnswer):  # the other questions of the trial are not known
                    session.interrupt(owner)
                raise
            stored = lookup.entry.model_copy(update={**came, "usage": came["usage"].with_retries({})})
            session.put(owner, stored, lookup.texts, lookup.talk)
        return lookup.entry.model_copy(update=came)

    def _miss(self, lookup: Lookup[Any]) -> NotRecorded:
        if self._role == "metrics":  # ratings decide nothing, so the trial is not errored
            return NotRecorded(f"not recorded: {lookup.what()}; {REFRESH_HINT}")
        return self._session.miss(self._owner, lookup.entry, lookup.what(), lookup.explain)

    def _lookup(self, question: Question[T]) -> Lookup[RecordedQuestion]:
        hide, talk, last = self._redactor.hide, list[RecordedMessage](), ""
        orders, order_keys = _split_orders(hide(question.instructions))
        prompt = split_prompt(remove_fence_codes(hide(question.prompt)))
        shape = _render_schema(question.shape)
        for line in question.talk:
            text = remove_fence_codes(hide(line.text))
            talk.append(
                RecordedMessage(key=content_key([last, line.role, text]), role=line.role, text=text, after=last)
            )
            last = talk[-1].key
        entry = RecordedQuestion(
            key="",
            of=(self._owner,),
            role=self._role,
            about=question.about,
            model=self._identity.who,
            parameters=hide(dict(self._identity.parameters)),
            orders=order_keys,
            talk=last,
            prompt=tuple(map(content_key, prompt)),
            shape=content_key(shape),
            sample=question.sample,
        ).keyed()
        texts = [*orders, *prompt, shape]
        about = f" about {question.about}" if question.about else ""
        return Lookup(
            entry,
            texts,
            talk,
            lambda: f"a question of {self._role}{about}, {_last_line(prompt)}",
            partial(describe_nearest_question, entry, texts, talk),
        )

    def _lookup_vectors(self, texts: list[str]) -> Lookup[RecordedEmbedding]:
        model, given = f"{self._identity.who} {self._identity.embeddings}".strip(), tuple(map(content_key, texts))
        about: dict[str, Any] = {"role": self._role, "model": model, "given": given}
        entry = RecordedEmbedding(key="", of=(self._owner,), vectors=(), **about).keyed()
        what = f"vectors that {self._role} asks for, of {texts[0][:80]!r}" if texts else "vectors of nothing"
        return Lookup(entry, texts, [], lambda: what, partial(describe_nearest_embedding, entry))

    def _ask(self, question: Question[Any]) -> dict[str, Any]:
        hide = self._redactor.hide
        try:
            answer = self._model.ask(question)
        except BadAnswer as bad:
            return {"failed": hide(str(bad)) or "it gave no answer", "usage": bad.usage}
        by, data = hide(answer.model), hide(answer.data.model_dump(mode="json", by_alias=True))
        return {"answer": data, "usage": answer.usage, "by": by if by != self._identity.who else ""}

    def _embed(self, texts: Sequence[str]) -> dict[str, Any]:
        made = self._model.embed(texts)
        usage = made.usage if isinstance(made, Embeddings) else NO_USAGE
        return {"vectors": tuple(map(pack_vector, made)), "usage": usage}


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
