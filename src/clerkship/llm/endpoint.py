"""An endpoint with OpenAI's API: send a request, and retry while the endpoint is busy."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from clerkship.kit.http_body import ResponseTooLarge
from clerkship.kit.http_client import open_client, post
from clerkship.llm.retry import (
    ConcurrencyLimit,
    EndpointBusy,
    ModelOutage,
    ModelRetryPolicy,
    RequestDeclined,
    TimeSpent,
    build_status_error,
    build_timeout,
    call_with_retries,
)
from clerkship.model.usage import NO_USAGE, Usage

if TYPE_CHECKING:
    import httpx

    BorrowClient = Callable[[], AbstractContextManager[httpx.AsyncClient]]

READ_TIMEOUT = 180.0
MAX_RESPONSE_BYTES = 20_000_000
MIN_KEY_LENGTH = 12
"""The shortest text that is treated as a key."""
QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Error codes that some endpoints send with status 429 when waiting does not help."""
_DEFAULT_POLICY = ModelRetryPolicy()


class ApiCredentials(NamedTuple):
    """The key for an endpoint, and how it is sent."""

    key: str = ""
    header: str = "authorization"
    """The header with the key."""
    query: str = ""
    """The query of each URL, without the `?`."""
    hint: str = "set CLERKSHIP_OPENAI_API_KEY or OPENAI_API_KEY"
    """What to do if the key is rejected."""

    def headers(self) -> dict[str, str]:
        """Return the headers of each request."""
        if not self.key:
            return {}
        return {self.header: f"Bearer {self.key}" if self.header == "authorization" else self.key}

    def redact_key(self, text: str) -> str:
        """Remove the key from a server's text, which may be stored and shown.

        A very short key is a placeholder such as `none`; it is not replaced, because it may be part of ordinary words.
        """
        return text.replace(self.key, "[key]") if len(self.key) >= MIN_KEY_LENGTH else text


class Endpoint:
    """An address and its credentials: sends JSON, returns JSON, retries while the endpoint is busy."""

    def __init__(self, base_url: str, credentials: ApiCredentials, policy: ModelRetryPolicy = _DEFAULT_POLICY) -> None:
        self._base_url, self._credentials, self._retry_policy = base_url, credentials, policy

    def client(self) -> "httpx.AsyncClient":
        """Return a client for several requests in a row."""
        # With a limit for each attempt, the time between two parts of an answer needs none.
        return open_client(self._base_url, READ_TIMEOUT if self._retry_policy.timeout is None else None)

    async def post(
        self,
        borrow: "BorrowClient",
        path: str,
        body_fields: Mapping[str, Any],
        limits: Sequence[ConcurrencyLimit] = (),
        time_spent: TimeSpent | None = None,
    ) -> Any:
        """Post to a path and return the JSON answer; each attempt borrows a connection."""
        body, model = orjson.dumps(body_fields), str(body_fields.get("model", ""))
        url = f"{self._base_url.rstrip('/')}{path}{'?' * bool(self._credentials.query)}{self._credentials.query}"
        return await call_with_retries(
            lambda: self._once(borrow, url, model, body),
            self._base_url,
            self._retry_policy,
            limits,
            time_spent or TimeSpent(),
        )

    async def _once(self, borrow: "BorrowClient", url: str, model: str, body: bytes) -> Any:
        import httpx  # noqa: PLC0415  (most agents need no HTTP)

        try:
            with borrow() as client:
                response, data = await post(client, url, self._credentials.headers(), body, MAX_RESPONSE_BYTES)
        except ResponseTooLarge:
            raise ModelOutage(f"the answer of {self.host} has more than {MAX_RESPONSE_BYTES:,} bytes") from None
        except httpx.TimeoutException:
            raise build_timeout(self._retry_policy.timeout) from None
        except httpx.HTTPError as error:
            raise EndpointBusy(self._credentials.redact_key(str(error)) or type(error).__name__) from None
        text = self._credentials.redact_key(data.decode(errors="replace"))
        if response.status_code != 200:
            raise self._trouble(response, text, model)
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            problem = f"the answer of {self.host} is not JSON: {text[:200]!r}"
        if text.startswith("{"):
            raise EndpointBusy(problem)  # half an answer: the next one may be complete
        raise ModelOutage(problem)

    def build_no_message_error(self, answer: Any, usage: Usage = NO_USAGE) -> ModelOutage:
        """Return the error for an answer without a message."""
        return ModelOutage(f"the answer of {self.host} has no message: {orjson.dumps(answer)[:200].decode()}", usage)

    def _trouble(self, response: "httpx.Response", text: str, model: str) -> Exception:
        message, code = _parse_error(text)
        if code in QUOTA_CODES:
            return ModelOutage(f"{self.host}: the quota for model `{model}` is used up: {message}")
        refused, hints = f"{self.host} refuses model `{model}`", {401: self._credentials.hint, **_HINTS}
        error = build_status_error(
            response.status_code, message, response.headers.get("retry-after", ""), refused, hints
        )
        if isinstance(error, RequestDeclined):
            error.code = code
        return error

    @property
    def host(self) -> str:
        """The host, for error messages."""
        return urlsplit(self._base_url).netloc


def first_message(answer: Any) -> dict[str, Any] | None:
    """Return the message of an answer's first choice; None if there is none."""
    with contextlib.suppress(KeyError, IndexError, TypeError):
        message = answer["choices"][0]["message"]
        return message if isinstance(message, dict) else None
    return None


def parse_token_counts(answer: Any) -> dict[str, int]:
    """Return the token counts that an answer reports."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    counts = (
        {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")} if isinstance(usage, dict) else {}
    )
    return {name: count for name, count in counts.items() if isinstance(count, int) and count >= 0}


def message_text(message: Mapping[str, Any]) -> str | None:
    """Return the text or the refusal of a message; None if it has neither."""
    content = message.get("content") or message.get("refusal")
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) and content else None


_HINTS = {
    403: "the key has no access to this model",
    404: "check the model's name and the address (most end in /v1)",
}


def _parse_error(text: str) -> tuple[str, str]:
    """Return the message and the code of an error response; for an unknown format its beginning and no code."""
    error: Any = None
    with contextlib.suppress(orjson.JSONDecodeError, KeyError, TypeError):
        error = orjson.loads(text)["error"]
    if not isinstance(error, dict):
        return text[:200], ""
    return str(error.get("message", text[:200]))[:500], str(error.get("code", ""))
