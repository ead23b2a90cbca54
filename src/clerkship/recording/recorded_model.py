"""A model behind a cassette, as one trial uses it in one role."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar, cast

import orjson
from pydantic import BaseModel

from clerkship.llm.contract import BadAnswer, Embeddings, Model, ModelAnswer, Question, is_instant
from clerkship.model.model_choice import ModelChoice
from clerkship.model.usage import NO_USAGE, Role
from clerkship.recording.advice import REFRESH_HINT
from clerkship.recording.cassette import (
    CassetteEntry,
    RecordedEmbedding,
    RecordedMessage,
    RecordedQuestion,
    RecordedTurn,
    TrialKey,
    content_key,
    pack_vector,
    remove_fence_codes,
    split_prompt,
    unpack_vector,
)
from clerkship.recording.nearest_entry import describe_nearest_embedding, describe_nearest_question
from clerkship.recording.session import DescribeNearest, NotRecorded, RecordingSession

T = TypeVar("T", bound=BaseModel)


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
        """Return the recorded answer, or ask the model."""
        lookup = self._lookup(question)
        found = cast(RecordedQuestion, self._answer(lookup, lambda: self._ask(question, lookup)))
        if found.failed:
            raise BadAnswer(self._redactor.show(found.failed), found.usage)
        data = question.shape.model_validate(self._redactor.show(found.answer))
        return ModelAnswer(data, self._redactor.show(found.by or found.model), found.usage)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the recorded vectors, or ask the model."""
        lookup = self._lookup_vectors([self._redactor.hide(text) for text in texts])
        found = cast(RecordedEmbedding, self._answer(lookup, lambda: self._embed(texts, lookup)))
        vectors = [unpack_vector(vector) for vector in found.vectors]
        return Embeddings(vectors, found.usage) if found.usage != NO_USAGE else vectors

    def close(self) -> None:
        """Do nothing: the model is shared."""

    def _answer(self, lookup: CassetteLookup, ask: Callable[[], CassetteEntry]) -> CassetteEntry:
        session, owner = self._session, self._owner
        with session.exclusively(lookup.key):
            found = session.find(owner, lookup.key)
            if found is None and session.replays:
                raise self._miss(lookup)
            if found is None:
                with session.asking(owner):
                    found = ask()
                session.put(owner, _without_retries(found), lookup.texts, lookup.talk)
        return found

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
    if isinstance(entry, RecordedTurn) or not entry.usage.retries:
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
