"""`openai:<model>[@<address>]` as somebody to be asked: answers of a shape, and texts as vectors."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, JsonValue

from clerkship.llm.answer import parse_answer
from clerkship.llm.aside import Aside, CalledOff
from clerkship.llm.completions import BACKOFF, Completions, Declined, Endpoint, ModelOutage, text_of
from clerkship.llm.contract import Answer, BadAnswer, Question
from clerkship.llm.place import Place

if TYPE_CHECKING:
    import httpx

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")
REPAIRS = 2
"""How often it is told what is wrong with its answer, and asked again."""
ANSWER_WITHIN = 120.0
"""Seconds for one attempt."""
ASK_WITHIN = 600.0
"""Seconds for one question with everything: attempts, waits between them, repairs."""
AT_ONCE = 8


class Manner(NamedTuple):
    """How a model is asked, beside what."""

    parameters: Mapping[str, JsonValue] = {}
    """What goes into each request as it is: a temperature, a seed."""
    answer_within: float = ANSWER_WITHIN
    at_once: int = AT_ONCE
    backoff: float = BACKOFF


_USUAL = Manner()


class OpenAIModel:
    """A chat-completions endpoint, asked one question at a time or several at once."""

    def __init__(self, place: Place, embeddings: Place, key: str, manner: Manner = _USUAL) -> None:
        self.name = place.name
        self._manner = manner
        self._completions = Completions(place.model, place.address, key, manner.backoff)
        self._vectors, self._vector_model = Endpoint(embeddings.address, key, manner.backoff), embeddings.model
        self._aside = Aside()
        self._clients: dict[str, httpx.AsyncClient] = {}
        self._limit: asyncio.Semaphore | None = None
        self._by_schema = True
        """Until the endpoint says that it knows no `response_format`."""

    def ask(self, question: Question[T]) -> Answer[T]:
        """Ask, and tell it what is wrong where its answer has not the shape."""
        return self._do(lambda: self._asked(question))

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Each text as a vector, in the same order."""
        return self._do(lambda: self._embedded(list(texts)))

    def close(self) -> None:
        """Let go of the connections."""
        self._aside.close(self._hang_up)

    def usage(self) -> Mapping[str, JsonValue]:
        """Calls and tokens so far."""
        return self._completions.usage()

    def _do(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        try:
            return self._aside.do(lambda: self._in_turn(work))
        except CalledOff:
            raise ModelOutage(f"the question to {self.name} was called off: the run is over") from None

    async def _in_turn(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        if self._limit is None:
            self._limit = asyncio.Semaphore(self._manner.at_once)
        async with self._limit:
            try:
                async with asyncio.timeout(ASK_WITHIN):
                    return await work()
            except TimeoutError:
                raise ModelOutage(f"{self.name} has not answered within {ASK_WITHIN:g} seconds") from None

    def _line(self, endpoint: Endpoint) -> "httpx.AsyncClient":
        if endpoint.host not in self._clients:
            self._clients[endpoint.host] = endpoint.client(self._manner.answer_within)
        return self._clients[endpoint.host]

    async def _hang_up(self) -> None:
        for client in self._clients.values():
            await client.aclose()

    async def _asked(self, question: Question[T]) -> Answer[T]:
        messages = _messages(question)
        wrong = ""
        for _ in range(REPAIRS + 1):
            text = text_of(await self._message(messages, question)) or ""
            try:
                return Answer(parse_answer(text, question.shape), self.name)
            except BadAnswer as bad:
                wrong = str(bad)
            messages = [*messages, _turn("assistant", text), _turn("user", _REPAIR.format(wrong=wrong))]
        said = f"; it said {text[:200]!r}" if text else "; it said nothing"
        raise BadAnswer(f"{self.name} gave no answer of the right shape in {REPAIRS + 1} attempts: {wrong}{said}")

    async def _message(self, messages: list[dict[str, str]], question: Question[T]) -> dict[str, Any]:
        """By schema where the endpoint has that; else the prompt alone says what shape is wanted."""
        line = self._line(self._completions.endpoint)
        if self._by_schema:
            form: JsonValue = {"name": question.shape.__name__, "schema": question.schema, "strict": True}
            asked = {**self._manner.parameters, "response_format": {"type": "json_schema", "json_schema": form}}
            try:
                return await self._completions.ask(line, messages, besides=asked)
            except Declined as declined:
                if declined.status != 400:
                    raise
        message = await self._completions.ask(line, messages, besides=self._manner.parameters)
        self._by_schema = False  # that it was, and nothing else in the request
        return message

    async def _embedded(self, texts: list[str]) -> list[list[float]]:
        asked = {"model": self._vector_model, "input": texts, "encoding_format": "float"}
        found = await self._vectors.post(self._line(self._vectors), "/embeddings", asked)
        with contextlib.suppress(KeyError, TypeError, ValueError):
            items = sorted(found["data"], key=lambda item: item["index"])
            vectors = [[float(number) for number in item["embedding"]] for item in items]
            if len(vectors) == len(texts) and all(vectors) and len({len(vector) for vector in vectors}) == 1:
                return vectors
        raise ModelOutage(f"{self._vectors.host} gives no vector for each text: {orjson.dumps(found)[:200].decode()}")


_SHAPE = """Answer with one JSON object and nothing else: no words around it, no code fence. Its JSON Schema is:
{schema}"""
_REPAIR = """That answer cannot be used: {wrong}.
Give the same judgement again, as one JSON object of the shape you were told, and nothing else."""


def _messages(question: Question[Any]) -> list[dict[str, str]]:
    shape = _SHAPE.format(schema=orjson.dumps(question.schema).decode())
    orders = "\n\n".join(filter(None, (question.orders, shape)))
    earlier = [_turn(line.role, line.text) for line in question.talk]
    return [_turn("system", orders), *earlier, _turn("user", question.prompt)]


def _turn(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}
