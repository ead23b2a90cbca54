"""An endpoint of the OpenAI sort: one question, one message back, with patience where it is busy."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson
from pydantic import JsonValue

from clerkship.kit.wall import now
from clerkship.llm.wire import TooLarge, open_client, post
from clerkship.model.problem import InputError, PlatformError

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 4
BACKOFF = 0.5
"""Seconds before the second attempt; twice as many before each further one, if the server names none."""
LONGEST_WAIT = 30.0
READ_WITHIN = 180.0
LIMIT = 20_000_000
_BUSY = frozenset({408, 409, 425, 429})


class ModelOutage(PlatformError):
    """The model cannot be asked now. Not the agent's doing: the run is errored."""


class Declined(InputError):
    """The endpoint will not take what it is asked: its key, its model, or a part of the request."""

    status: int = 0


class Busy(Exception):
    """An attempt that may do better in a while."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class Endpoint:
    """One address and its key: JSON there, JSON back, tried again while it is busy."""

    def __init__(self, base_url: str, key: str, backoff: float = BACKOFF) -> None:
        self._base_url, self._key, self._backoff = base_url, key, backoff

    def client(self, read_within: float = READ_WITHIN) -> "httpx.AsyncClient":
        """To be opened by whoever asks several times in a row."""
        return open_client(self._base_url, read_within)

    async def post(self, client: "httpx.AsyncClient", path: str, asked: Mapping[str, Any]) -> Any:
        """What it answers at a path below its address."""
        body = orjson.dumps(asked)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._once(client, path, str(asked.get("model", "")), body)
            except Busy as busy:
                if attempt == ATTEMPTS:
                    raise ModelOutage(
                        f"the model cannot be asked: {busy}, in {ATTEMPTS} attempts at {self._base_url}"
                    ) from None
                wait = self._backoff * 2 ** (attempt - 1) if busy.wait is None else busy.wait
                await asyncio.sleep(min(wait, LONGEST_WAIT))
        raise AssertionError("unreachable")

    async def _once(self, client: "httpx.AsyncClient", path: str, model: str, body: bytes) -> Any:
        import httpx  # noqa: PLC0415  (most agents need no HTTP)

        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            response, data = await post(client, f"{self._base_url.rstrip('/')}{path}", headers, body, LIMIT)
        except TooLarge:
            raise ModelOutage(f"a reply of {self.host} has more than {LIMIT:,} bytes") from None
        except httpx.TimeoutException:
            raise Busy("it does not answer in time") from None
        except httpx.HTTPError as error:
            raise Busy(self._without_key(str(error)) or type(error).__name__) from None
        text = self._without_key(data.decode(errors="replace"))
        if response.status_code in _BUSY or response.status_code >= 500:
            raise Busy(f"status {response.status_code}: {_words(text)}", _retry_after(response))
        if response.status_code != 200:
            declined = Declined.of(
                f"{self.host} refuses model `{model}` with status {response.status_code}: {_words(text)}",
                hint=_HINTS.get(response.status_code, "see what it says"),
            )
            declined.status = response.status_code
            raise declined
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            raise ModelOutage(f"{self.host} answers what is not JSON: {text[:200]!r}") from None

    @property
    def host(self) -> str:
        """Where it is, for messages."""
        return urlsplit(self._base_url).netloc

    def _without_key(self, text: str) -> str:
        """Whatever a server writes may be kept and shown; some write back what they were sent."""
        return text.replace(self._key, "[key]") if self._key else text


class Completions:
    """One model at one endpoint, and what it has used."""

    def __init__(self, model: str, base_url: str, key: str, backoff: float = BACKOFF) -> None:
        self._model = model
        self.endpoint = Endpoint(base_url, key, backoff)
        self._usage = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}

    def usage(self) -> Mapping[str, JsonValue]:
        """Calls and tokens so far."""
        return {"model": self._model, **self._usage}

    def client(self) -> "httpx.AsyncClient":
        """To be opened by whoever asks several times in a row."""
        return self.endpoint.client()

    async def ask(
        self,
        client: "httpx.AsyncClient",
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] = (),
        besides: Mapping[str, JsonValue] | None = None,
    ) -> dict[str, Any]:
        """The model's next message; `besides` goes into the request as it is."""
        asked = {**(besides or {}), "model": self._model, "messages": messages} | ({"tools": tools} if tools else {})
        return self._message(await self.endpoint.post(client, "/chat/completions", asked))

    def _message(self, found: Any) -> dict[str, Any]:
        self._usage["calls"] += 1
        for name, count in used(found).items():
            self._usage[name] += count
        with contextlib.suppress(KeyError, IndexError, TypeError):
            message = found["choices"][0]["message"]
            if isinstance(message, dict):
                return message
        raise ModelOutage(f"{self.endpoint.host} answers without a message: {orjson.dumps(found)[:200].decode()}")


def used(found: Any) -> dict[str, int]:
    """The tokens that an answer says it took."""
    usage = found.get("usage") if isinstance(found, dict) else None
    counts = (
        {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")} if isinstance(usage, dict) else {}
    )
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def text_of(message: Mapping[str, Any]) -> str | None:
    """What a message says, or why it says nothing."""
    content = message.get("content") or message.get("refusal")
    if isinstance(content, Sequence) and not isinstance(content, str):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) and content else None


_HINTS = {
    401: "set CLERKSHIP_OPENAI_API_KEY or OPENAI_API_KEY",
    403: "the key may not use this model",
    404: "is the model's name right, and the address (it ends in /v1 at most places)?",
}


def _words(text: str) -> str:
    """What an error says, in the form most of them have, or its beginning."""
    with contextlib.suppress(orjson.JSONDecodeError, KeyError, TypeError):
        return str(orjson.loads(text)["error"]["message"])[:500]
    return text[:200]


def _retry_after(response: "httpx.Response") -> float | None:
    """Seconds, or a date (RFC 9110 §10.2.3)."""
    text = response.headers.get("retry-after", "")
    if text.isdigit():
        return float(text[:9])
    try:
        return max((parsedate_to_datetime(text) - now()).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None
