"""Anthropic's API, through its own library, which is imported when such a model is built."""

from typing import TYPE_CHECKING, Any

import orjson

from clerkship.kit.extras import describe_install
from clerkship.kit.http_client import is_loopback
from clerkship.llm.endpoint import ApiCredentials
from clerkship.llm.endpoint_pool import HostConnections
from clerkship.llm.model_reference import ModelReference
from clerkship.llm.remote import AnswerFormat, ChatMessage, ChatRequest, ModelReply, RequestOptions, StopReason
from clerkship.llm.retry import EndpointBusy, ModelOutage, build_status_error, build_timeout, call_with_retries
from clerkship.llm.token_limit import DEFAULT_MAX_TOKENS
from clerkship.model.errors import InputError
from clerkship.model.usage import Prices, Usage

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic
    from anthropic.types import Message

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

    def __init__(self, reference: ModelReference, credentials: ApiCredentials, options: RequestOptions) -> None:
        # Import here, not on the first question: it takes seconds, during which other questions would wait.
        try:
            import anthropic  # noqa: PLC0415  (an extra)
        except ImportError:
            raise InputError.of(
                f"model `{reference.name}`: Anthropic's library is not installed",
                hint=f"install it with {describe_install('anthropic')}",
            ) from None
        self._library = anthropic
        self._reference, self._credentials, self._options = reference, credentials, options

    async def send(self, request: ChatRequest, connections: HostConnections) -> ModelReply:
        """Send one message."""
        client = connections.hold((self._reference.address, self._credentials.key), self._client, _close_client)
        message = await call_with_retries(
            lambda: self._once(client, request),
            self._reference.address,
            self._options.retry_policy,
            request.limits,
            request.time_spent,
        )
        return ModelReply(
            _extract_text(message),
            _STOP_REASONS.get(message.stop_reason, ""),
            _parse_usage(message, self._options.prices),
        )

    def _client(self) -> "AsyncAnthropic":
        # Retries are ours, so that a waiting request frees its slot; redirects would send the key elsewhere.
        http = self._library.DefaultAsyncHttpxClient(
            trust_env=not is_loopback(self._reference.address), follow_redirects=False
        )
        return self._library.AsyncAnthropic(
            api_key=self._credentials.key or "none", base_url=self._reference.address, max_retries=0, http_client=http
        )

    async def _once(self, client: "AsyncAnthropic", request: ChatRequest) -> "Message":
        library = self._library
        parameters: dict[str, Any] = dict(self._options.parameters)
        body = _build_request(request, parameters)
        default = parameters.pop("max_tokens", DEFAULT_MAX_TOKENS)  # this API requires a limit
        try:
            message: Message = await client.messages.create(
                model=self._reference.model,
                max_tokens=self._options.max_tokens or default,
                timeout=self._options.answer_timeout,
                extra_body=parameters,
                **body,
            )
        except library.APIStatusError as error:
            raise self._trouble(error) from None
        except library.APITimeoutError:
            raise build_timeout(self._options.answer_timeout) from None
        except library.APIConnectionError as error:
            raise EndpointBusy(
                self._credentials.redact_key(str(error.__cause__ or error)) or type(error).__name__
            ) from None
        except (library.APIError, ValueError) as error:
            raise EndpointBusy(
                f"the answer is not a message: {self._credentials.redact_key(str(error))[:200]}"
            ) from None
        if not isinstance(getattr(message, "content", None), list) or message.usage is None:
            raise ModelOutage(f"the answer of {self._reference.address} is not a message: {str(message)[:200]!r}")
        return message

    def _trouble(self, error: "APIStatusError") -> Exception:
        refused = f"{self._reference.address} refuses model `{self._reference.model}`"
        words, wait = self._credentials.redact_key(_error_text(error)), error.response.headers.get("retry-after", "")
        return build_status_error(error.status_code, words, wait, refused, {401: self._credentials.hint, **_HINTS})


async def _close_client(client: "AsyncAnthropic") -> None:
    await client.close()


def _build_request(request: ChatRequest, parameters: dict[str, Any]) -> dict[str, Any]:
    """Build a request with a separate system prompt, a conversation that the user starts, and the requested format."""
    system, *turns = request.turns
    if turns[0].role == "assistant":
        turns = [ChatMessage("user", "(it begins)"), *turns]
    body: dict[str, Any] = {
        "system": system.content,
        "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
    }
    if request.form == "schema":
        form = {"type": "json_schema", "schema": request.question.schema}
        body["output_config"] = {**parameters.pop("output_config", {}), "format": form}
    elif request.form == "tool":
        description = "Give your answer by calling this, once."
        tool = {"name": TOOL_NAME, "description": description, "input_schema": request.question.schema}
        body["tools"] = [tool]
        body["tool_choice"] = {"type": "tool", "name": TOOL_NAME, "disable_parallel_tool_use": True}
    return body


def _extract_text(message: "Message") -> str:
    """Return the text of a message, or the arguments of its tool call."""
    called = [block.input for block in message.content if block.type == "tool_use" and block.name == TOOL_NAME]
    if called:
        return orjson.dumps(called[0]).decode()
    return "".join(block.text for block in message.content if block.type == "text")


def _parse_usage(message: "Message", prices: Prices | None) -> Usage:
    """Return the usage. Anthropic counts cached input separately; here it is part of the prompt tokens."""
    usage = message.usage
    cached = usage.cache_read_input_tokens or 0
    prompt = usage.input_tokens + cached + (usage.cache_creation_input_tokens or 0)
    cost = prices.cost(prompt, usage.output_tokens, cached) if prices is not None else None
    return Usage(calls=1, prompt_tokens=prompt, completion_tokens=usage.output_tokens, cost=cost)


def _error_text(error: "APIStatusError") -> str:
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    message_text = inner.get("message") if isinstance(inner, dict) else None
    return str(message_text or error.response.text)[:500]
