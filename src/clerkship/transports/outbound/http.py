"""Send HTTP requests to agents: only to checked addresses, within limits, and signed if the delivery has a signer."""

import asyncio
import ssl
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urljoin

import orjson

from clerkship.kit.http_body import ResponseTooLarge, read_response
from clerkship.transports.outbound.address import BadAddress, OutboundAddress, Scheme
from clerkship.transports.outbound.delivery import MAX_CONNECT_SECONDS, DeliveryFailed, OutboundClient, OutboundDelivery
from clerkship.transports.outbound.policy import ResolvedAddress

if TYPE_CHECKING:
    import httpx

Sign = Callable[["OutboundRequest"], Mapping[str, str]]
"""Returns headers to add to a request, such as a signature over URL and body. Called again for each redirect."""
USER_AGENT = "clerkship"
_METHOD_KEEPING_REDIRECTS = frozenset({307, 308})
"""Redirects that keep method and body (RFC 9110 §15.4.8, §15.4.9)."""
_REDIRECTS = frozenset({301, 302, 303}) | _METHOD_KEEPING_REDIRECTS
_PRIVATE_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
_RETRIED_STATUSES = frozenset({408, 425, 429})
"""Statuses below 500 after which the same request may succeed later."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """How long a request may take, in wall time, and how large its response may be."""

    timeout: float = 15.0
    """Seconds for one request and its response, including redirects."""
    max_body: int = 1_000_000
    max_redirects: int = 3


DEFAULT_LIMITS = HttpLimits()


@dataclass(frozen=True, slots=True)
class OutboundRequest:
    """A request to an agent."""

    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    sign: Sign | None = None
    url: str = ""
    """Set when the request is sent, to the URL of the checked address."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The response of an agent."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def send_request(
    client: OutboundClient,
    resolved: ResolvedAddress,
    sent: OutboundRequest,
    limits: HttpLimits = DEFAULT_LIMITS,
) -> HttpResponse:
    """Send a request to a checked address, and follow redirects to addresses that the policy allows.

    Raise DeliveryFailed, OutboundRefused for a redirect to a refused address, TimeoutError or OSError.
    """
    import httpx  # noqa: F401, PLC0415  (most runs call no agent; imported before the timeout starts)

    client.extend()
    sent = replace(sent, url=resolved.address.url)
    async with asyncio.timeout(limits.timeout):
        for _ in range(limits.max_redirects + 1):
            response = await _send_once(resolved, sent, limits)
            if response.status not in _REDIRECTS:
                return response
            sent = _build_redirect(sent, response)
            resolved = await client.resolve(_parse_location(sent.url))
    raise DeliveryFailed("rejected", response.status, "too_many_redirects", is_final=True)


def json_request(data: Any, headers: Mapping[str, str] | None = None, sign: Sign | None = None) -> OutboundRequest:
    """Build a POST request with a JSON body."""
    headers = {"content-type": "application/json", **(headers or {})}
    return OutboundRequest(headers=headers, body=orjson.dumps(data), sign=sign)


def check_status(response: HttpResponse) -> None:
    """Raise DeliveryFailed unless the status is 2xx. The failure is final except after 408, 425, 429 and 5xx."""
    if not 200 <= response.status < 300:
        retried = response.status >= 500 or response.status in _RETRIED_STATUSES
        raise DeliveryFailed("rejected", response.status, is_final=not retried)


class WebhookDelivery(OutboundDelivery):
    """Delivers each message as one HTTP request; a 2xx response is the acknowledgement."""

    in_order: ClassVar[bool] = False

    @property
    def limits(self) -> HttpLimits:
        """The limits of each request and its response."""
        return DEFAULT_LIMITS

    @abstractmethod
    async def build(self, message_id: str) -> OutboundRequest:
        """Return the request that delivers a message; read the message with `client.call_as_run`."""

    async def accept(self, message_id: str, response: HttpResponse) -> None:
        """Check the response, and record what it contains. Raise DeliveryFailed if it is not an acknowledgement.

        A ValueError, such as that of a JSON parser, means that the response is malformed.
        """
        check_status(response)

    async def send(self, message_id: str, resolved: ResolvedAddress) -> None:
        """Send one message as an HTTP request."""
        sent = await self.build(message_id)
        response = await send_request(self.client, resolved, sent, self.limits)
        try:
            await self.accept(message_id, response)
        except ValueError:
            raise DeliveryFailed("rejected", response.status, "bad_response", is_final=True) from None


async def _send_once(resolved: ResolvedAddress, sent: OutboundRequest, limits: HttpLimits) -> HttpResponse:
    """Send a request to the first checked IP address that accepts a connection."""
    import httpx  # noqa: PLC0415  (as above)

    signature = sent.sign(sent) if sent.sign is not None else {}
    sent = replace(sent, headers={"user-agent": USER_AGENT, "accept-encoding": "identity", **sent.headers, **signature})
    failure: BaseException = ConnectionRefusedError()
    for ip in resolved.ips:
        opened = _open_response(_build_request(ip, resolved.address, sent), resolved.address.scheme)
        try:
            response, body = await read_response(opened, limits.max_body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            failure = _to_delivery_error(error)
        except httpx.HTTPError as error:
            raise _to_delivery_error(error) from None
        except ResponseTooLarge:
            raise DeliveryFailed("rejected", None, "response_too_large", is_final=True) from None
        except (httpx.StreamError, ValueError, EOFError):  # exceptions that httpx does not convert to HTTPError
            raise DeliveryFailed("lost", reason="bad_response") from None
        else:
            return HttpResponse(response.status_code, dict(response.headers), body)
    raise failure


def _build_request(ip: str, address: OutboundAddress, sent: OutboundRequest) -> "httpx.Request":
    """Build a request to one IP address. The Host header and TLS get the host name, which TLS verifies."""
    import httpx  # noqa: PLC0415  (as above)

    return httpx.Request(
        sent.method,
        replace(address, host=ip).url,
        headers={**sent.headers, "host": address.authority},
        content=sent.body,
        extensions={"sni_hostname": address.host, "timeout": {"connect": MAX_CONNECT_SECONDS}},
    )


@asynccontextmanager
async def _open_response(request: "httpx.Request", scheme: Scheme) -> "AsyncIterator[httpx.Response]":
    """Send a request and open its response.

    Uses the transport of httpx without its client: the client would follow redirects, use the proxies of the
    environment, which resolve the name again, and log URLs.
    """
    import httpx  # noqa: PLC0415  (as above)

    tls = _load_tls_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
        response = await transport.handle_async_request(request)
        try:
            yield response
        finally:
            await response.aclose()


@cache
def _load_tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _to_delivery_error(error: "httpx.HTTPError") -> BaseException:
    """Return the error of an attempt, from the exception that caused httpx's."""
    import httpx  # noqa: PLC0415  (as above)

    if isinstance(error, httpx.TimeoutException):
        return TimeoutError()
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return DeliveryFailed("lost", reason="tls")
        if isinstance(cause, ConnectionRefusedError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return DeliveryFailed("lost")


def _build_redirect(sent: OutboundRequest, response: HttpResponse) -> OutboundRequest:
    """Build the request that follows a redirect. Raise DeliveryFailed if the redirect is not allowed."""
    location = response.headers.get("location", "")
    if not location or (response.status not in _METHOD_KEEPING_REDIRECTS and sent.method not in ("GET", "HEAD")):
        raise DeliveryFailed("rejected", response.status, "redirect_not_followed", is_final=True)
    url = _join_location(sent.url, location)
    if sent.url.startswith("https:") and not url.startswith("https:"):
        raise DeliveryFailed("rejected", response.status, "redirect_without_tls", is_final=True)
    if _parse_origin(url) != _parse_origin(sent.url):
        headers = {name: value for name, value in sent.headers.items() if name not in _PRIVATE_HEADERS}
        return replace(sent, url=url, headers=headers)
    return replace(sent, url=url)


def _parse_origin(url: str) -> tuple[str, str, int]:
    address = _parse_location(url)
    return address.scheme, address.host, address.port


def _join_location(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:  # a host such as `[`
        raise DeliveryFailed("rejected", reason="bad_redirect", is_final=True) from None


def _parse_location(url: str) -> OutboundAddress:
    try:
        return OutboundAddress.parse(url)
    except BadAddress:
        raise DeliveryFailed("rejected", reason="bad_redirect", is_final=True) from None
