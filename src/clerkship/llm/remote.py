"""A model of a provider. If an answer does not have the asked shape, the question is repeated with the error.

See docs/decisions/0008-judges-and-models.md.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, JsonValue, ValidationError

from clerkship.kit.text import replace_surrogates
from clerkship.llm.chat import build_usage, request_chat
from clerkship.llm.client import ModelClient
from clerkship.llm.contract import BadAnswer, Embeddings, ModelAnswer, Question
from clerkship.llm.model_reference import ModelReference
from clerkship.llm.retry import ModelOutage, RequestDeclined, TimeSpent
from clerkship.llm.token_limit import TokenLimit
from clerkship.model.redaction import map_texts
from clerkship.model.usage import NO_USAGE, Prices
from clerkship.providers.apis import APIS
from clerkship.providers.contract import NO_TEXT, ChatReply, ChatRequest, ModelMessage, ProviderApi

MAX_STARTS = 50
"""Braces at which an object is looked for."""
_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_FIRST_THOUGHTS = re.compile(r"\A\s*<think>.*?(</think>|\Z)", re.DOTALL)
_DECODER = json.JSONDecoder()
T = TypeVar("T", bound=BaseModel)
MAX_REPAIRS = 2
"""How often an invalid answer is sent back with its error."""


def parse_answer(text: str, shape: type[T]) -> T:
    """Return the object in a text that has the shape.

    Raise BadAnswer if there is none, or if there are several that differ: one may be quoted from the text to be
    judged. A leading `<think>` block is removed first. Others are removed only if the text cannot be parsed with
    them, because the answer may quote an agent's thoughts.
    """
    try:
        return _parse_object(_FIRST_THOUGHTS.sub("", text), shape)
    except BadAnswer:
        if "<think>" not in text:
            raise
    return _parse_object(_THOUGHTS.sub("", text), shape)


def _parse_object(text: str, shape: type[T]) -> T:
    wrong, answers = "there is no JSON object in it", list[T]()
    for candidate in _find_objects(text):
        try:
            answers.append(shape.model_validate(map_texts(candidate, replace_surrogates)))
        except ValidationError as error:
            wrong = _describe_errors(error)
    if not answers:
        raise BadAnswer(wrong)
    if any(answer != answers[0] for answer in answers):
        raise BadAnswer(f"there are {len(answers)} answers in it, and they differ")
    return answers[0]


def _find_objects(text: str) -> Iterator[Any]:
    """Yield the outermost JSON objects in a text."""
    start, tried = text.find("{"), 0
    while start >= 0 and tried < MAX_STARTS:
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            end = start + 1
        else:
            yield value
        start = text.find("{", end)


def _describe_errors(error: ValidationError) -> str:
    """Describe validation errors in a line that the model can act on."""
    parts = [f"{'.'.join(map(str, part['loc'])) or 'it'}: {part['msg']}" for part in error.errors()[:5]]
    return "; ".join(parts)[:500]


class RequestOptions(NamedTuple):
    """Options for requests to a model."""

    parameters: Mapping[str, JsonValue] = {}
    """Passed on in each request: a temperature, a seed."""
    max_tokens: int | None = None
    """The limit of one answer; None for the one in the parameters or the default."""
    prices: Prices | None = None


class RemoteModel:
    """A model of a provider, usable by several threads at once."""

    def __init__(
        self,
        reference: ModelReference,
        client: ModelClient,
        embed: Callable[[Sequence[str]], Embeddings],
        close: Callable[[], None],
        options: RequestOptions,
    ) -> None:
        self.name, self._model = reference.name, reference.model
        self._api: ProviderApi = APIS[client.account.name]
        self._client, self._embed, self._close = client, embed, close
        self._options = options
        self._token_limit = TokenLimit(options.max_tokens, self._api, reference.address, options.parameters)
        self._forms: dict[type[BaseModel], int] = {}
        """For each shape, the index of the first form that the provider has not rejected."""

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Ask, and ask again with the error if the answer does not have the shape."""
        messages, time_spent, usage, wrong, reply = _build_messages(question), TimeSpent(), NO_USAGE, "", _NO_REPLY
        for repair in range(MAX_REPAIRS + 1):
            if repair:
                time_spent.retries["invalid answer"] += 1
            try:
                reply = self._send(messages, question, time_spent)
            except (BadAnswer, RequestDeclined, ModelOutage) as failed:
                failed.usage = (usage + failed.usage).with_retries(time_spent.retries)
                raise
            usage = (usage + build_usage(reply.tokens, reply.cost, self._options.prices)).with_retries(
                time_spent.retries
            )
            if reply.stop == "filtered":
                raise BadAnswer(f"{self.name}: the endpoint's content filter withheld the answer", usage)
            text = reply.message.text
            try:
                return ModelAnswer(parse_answer(text, question.shape), self.name, usage)
            except BadAnswer as bad:
                wrong = _STOP_ERRORS.get(reply.stop, str(bad) if text else "it is empty")
            invalid = ModelMessage("assistant", text or NO_TEXT)
            messages = (*messages, invalid, ModelMessage("user", _REPAIR.format(wrong=wrong)))
        raise BadAnswer(f"{self.name} {_describe_failure(reply, wrong)}", usage)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text, in order."""
        return self._embed(texts)

    def close(self) -> None:
        """Cancel the requests under way, and release the connections if no other model uses them."""
        if self._client.cancellation.cancel():
            self._close()

    def _send(self, messages: tuple[ModelMessage, ...], question: Question[T], time_spent: TimeSpent) -> ChatReply:
        """Send the request in the best form that the provider accepts.

        If it declines every form, the form is not the reason, and the error is raised.
        """
        first = self._forms.get(question.shape, 0)
        for index, form in enumerate(self._api.forms[first:], first):
            request = ChatRequest(
                self._model, messages, form=form, schema=question.schema, schema_name=question.shape.__name__
            )
            try:
                reply = request_chat(self._client, request, self._token_limit, self._options.parameters, time_spent)
            except RequestDeclined as declined:
                if declined.code in _FILTER_CODES:
                    raise BadAnswer(f"{self.name}: the endpoint's content filter rejected the question") from None
                if declined.status not in (400, 422) or declined.code in _FINAL_CODES or form == "words":
                    raise
            else:
                self._forms[question.shape] = max(self._forms.get(question.shape, 0), index)
                if form == "tool" and reply.calls:
                    arguments = orjson.dumps(reply.calls[0].arguments).decode()
                    return reply._replace(message=reply.message._replace(text=arguments))
                return reply
        raise AssertionError("the last form is refused or answered")


_NO_REPLY = ChatReply(ModelMessage("assistant"))
_FILTER_CODES = frozenset({"content_filter", "content_policy_violation"})
_FINAL_CODES = frozenset({"context_length_exceeded", "model_not_found", "invalid_api_key"})
"""Error codes that do not depend on the format."""
_STOP_ERRORS: Mapping[str, str] = {
    "cut off": "it was cut off before its end, because it is too long; be brief",
    "refused": "it is a refusal",
}
_SHAPE = """Answer with one JSON object and nothing else: no words around it, no code fence. Its JSON Schema is:
{schema}"""
_REPAIR = """That answer cannot be used: {wrong}.
Give the same judgement again, as one JSON object of the shape you were told, and nothing else."""


def _describe_failure(reply: ChatReply, wrong: str) -> str:
    """Describe why there is no answer; each reason needs another remedy."""
    often = f"in {MAX_REPAIRS + 1} attempts"
    text = reply.message.text
    answer = f"it said {text[:200]!r}" if text else "it said nothing"
    if reply.stop == "refused":
        return f"refused to answer {often}: {answer}"
    if reply.stop == "cut off":
        return (
            f"was cut off at its limit of tokens {often}; {answer}; allow it more with --max-tokens or "
            "CLERKSHIP_MAX_TOKENS"
        )
    if not text:
        return f"gave an empty answer {often}; {answer}"
    return f"gave no answer of the right shape {often}: {wrong}; {answer}"


def _build_messages(question: Question[Any]) -> tuple[ModelMessage, ...]:
    shape = _SHAPE.format(schema=orjson.dumps(question.schema).decode())
    system_prompt = "\n\n".join(filter(None, (question.instructions, shape)))
    earlier = [ModelMessage(line.role, line.text) for line in question.talk]
    return (ModelMessage("system", system_prompt), *earlier, ModelMessage("user", question.prompt))
