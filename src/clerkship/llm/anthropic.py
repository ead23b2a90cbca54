"""Anthropic's API, through its own library, which is imported when such a model is built."""

from typing import TYPE_CHECKING, Any

import orjson

from clerkship.llm.endpoint import ApiCredentials
from clerkship.llm.endpoint_pool import HostConnections
from clerkship.llm.http_client import is_loopback
from clerkship.llm.model_reference import ModelReference
from clerkship.llm.remote import AnswerFormat, ChatMessage, ChatRequest, ModelReply, RequestOptions, StopReason
from clerkship.llm.retry import EndpointBusy, ModelOutage, build_status_error, call_with_retries
from clerkship.model.errors import InputError
from clerkship.model.usage import Prices, Usage

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic
    from anthropic.types import Message

DEFAULT_MAX_TOKENS = 4096
"""This API requires a limit; `max_tokens` in the parameters takes precedence."""
TOOL_NAME = "answer"
_STOP_REASONS: dict[str | None, StopReason] = {
    "max_tokens": "cut off",
    "model_context_window_exceeded": "cut off",
    "refusal": "refused",
}
_HINTS = {
    403: "the key has no access to this model",
    404: "check the model's name and the address (without /v1)",
}


class AnthropicApi:
    """The Messages API: answers by JSON schema if the model supports it, otherwise as the arguments of a forced tool
    call.
    """

    forms: tuple[AnswerFormat, ...] = ("schema", "tool", "words")

    def __init__(self, place: ModelReference, door: ApiCredentials, manner: RequestOptions) -> None:
        # Import here, not on the first question: it takes seconds, during which other questions would wait.
        try:
            import anthropic  # noqa: PLC0415  (an extra)
        except ImportError:
            raise InputError.of(
                f"model `{place.name}`: Anthropic's library is not installed",
                hint="pip install 'clerkship[anthropic]'",
            ) from None
        self._library = anthropic
        self._place, self._door, self._manner = place, door, manner

    async def say(self, asked: ChatRequest, connections: HostConnections) -> ModelReply:
        """Send one message."""
        client = connections.hold((self._place.address, self._door.key), self._client, _close_client)
        message = await call_with_retries(
            lambda: self._once(client, asked), self._place.address, self._manner.patience, asked.limits, asked.spent
        )
        return ModelReply(
            _extract_text(message),
            _STOP_REASONS.get(message.stop_reason, ""),
            _parse_usage(message, self._manner.prices),
        )

    def _client(self) -> "AsyncAnthropic":
        # Retries are ours, so that a waiting request frees its slot; redirects would send the key elsewhere.
        http = self._library.DefaultAsyncHttpxClient(
            trust_env=not is_loopback(self._place.address), follow_redirects=False
        )
        return self._library.AsyncAnthropic(
            api_key=self._door.key or "none", base_url=self._place.address, max_retries=0, http_client=http
        )

    async def _once(self, client: "AsyncAnthropic", asked: ChatRequest) -> "Message":
        theirs = self._library
        parameters: dict[str, Any] = dict(self._manner.parameters)
        told = _build_request(asked, parameters)
        try:
            message: Message = await client.messages.create(
                model=self._place.model,
                max_tokens=parameters.pop("max_tokens", DEFAULT_MAX_TOKENS),
                timeout=self._manner.answer_within,
                extra_body=parameters,
                **told,
            )
        except theirs.APIStatusError as error:
            raise self._trouble(error) from None
        except theirs.APITimeoutError:
            raise EndpointBusy("no answer in time") from None
        except theirs.APIConnectionError as error:
            raise EndpointBusy(self._door.redact_key(str(error.__cause__ or error)) or type(error).__name__) from None
        except (theirs.APIError, ValueError) as error:
            raise EndpointBusy(f"the answer is not a message: {self._door.redact_key(str(error))[:200]}") from None
        if not isinstance(getattr(message, "content", None), list) or message.usage is None:
            raise ModelOutage(f"the answer of {self._place.address} is not a message: {str(message)[:200]!r}")
        return message

    def _trouble(self, error: "APIStatusError") -> Exception:
        refused = f"{self._place.address} refuses model `{self._place.model}`"
        words, wait = self._door.redact_key(_error_text(error)), error.response.headers.get("retry-after", "")
        return build_status_error(error.status_code, words, wait, refused, {401: self._door.hint, **_HINTS})


async def _close_client(client: "AsyncAnthropic") -> None:
    await client.close()


def _build_request(asked: ChatRequest, parameters: dict[str, Any]) -> dict[str, Any]:
    """Build a request: the system prompt separate, the conversation starting with the user, the schema in the asked
    form.
    """
    system, *turns = asked.turns
    if turns[0].role == "assistant":
        turns = [ChatMessage("user", "(it begins)"), *turns]
    told: dict[str, Any] = {
        "system": system.content,
        "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
    }
    if asked.form == "schema":
        form = {"type": "json_schema", "schema": asked.question.schema}
        told["output_config"] = {**parameters.pop("output_config", {}), "format": form}
    elif asked.form == "tool":
        about = "Give your answer by calling this, once."
        told["tools"] = [{"name": TOOL_NAME, "description": about, "input_schema": asked.question.schema}]
        told["tool_choice"] = {"type": "tool", "name": TOOL_NAME, "disable_parallel_tool_use": True}
    return told


def _extract_text(message: "Message") -> str:
    """Return the text of a message, or the arguments of its tool call."""
    called = [block.input for block in message.content if block.type == "tool_use" and block.name == TOOL_NAME]
    if called:
        return orjson.dumps(called[0]).decode()
    return "".join(block.text for block in message.content if block.type == "text")


def _parse_usage(message: "Message", prices: Prices | None) -> Usage:
    """Return the usage. Anthropic counts cached input separately; here it is part of the prompt tokens."""
    used = message.usage
    cached = used.cache_read_input_tokens or 0
    prompt = used.input_tokens + cached + (used.cache_creation_input_tokens or 0)
    cost = prices.cost(prompt, used.output_tokens, cached) if prices is not None else None
    return Usage(calls=1, prompt_tokens=prompt, completion_tokens=used.output_tokens, cost=cost)


def _error_text(error: "APIStatusError") -> str:
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else None
    return str(said or error.response.text)[:500]
