"""Send HTTP requests to agents: only to checked addresses, within limits, and signed if the delivery has a signer."""

import asyncio
import ssl
import zlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sized
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar
from urllib.parse import urljoin

import orjson
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from clerkship.transports.outbound.address import BadAddress, OutboundAddress
from clerkship.transports.outbound.delivery import MAX_CONNECT_SECONDS, DeliveryFailed, OutboundClient, OutboundDelivery
from clerkship.transports.outbound.policy import ResolvedAddress

Sign = Callable[["OutboundRequest"], Mapping[str, str]]
"""Returns headers to add to a request, such as a signature over URL and body. Called again for each redirect."""
USER_AGENT = "clerkship"
READ_BYTES = 64 * 1024
FIRST_FINAL_STATUS = 200
MAX_HEAD_BYTES = 100 * 1024
"""Bytes of the head of a response."""
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
    holds_clock: bool = False
    """Whether a stepped clock stands still until then."""
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
    if limits.holds_clock:
        client.work(limits.timeout)
    else:
        client.await_agent()
    sent = replace(sent, url=resolved.address.url)
    try:
        async with asyncio.timeout(limits.timeout):
            for _ in range(limits.max_redirects + 1):
                response = await _send_once(resolved, sent, limits)
                if response.status not in _REDIRECTS:
                    return response
                sent = _build_redirect(sent, response)
                resolved = await client.resolve(_parse_location(sent.url))
    finally:
        client.work()
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
        self.client.work()
        sent = await self.build(message_id)
        response = await send_request(self.client, resolved, sent, self.limits)
        try:
            await self.accept(message_id, response)
        except ValueError:
            raise DeliveryFailed("rejected", response.status, "bad_response", is_final=True) from None


async def _send_once(resolved: ResolvedAddress, sent: OutboundRequest, limits: HttpLimits) -> HttpResponse:
    """Send a request to the first checked IP address that accepts a connection."""
    signature = sent.sign(sent) if sent.sign is not None else {}
    defaults = {"user-agent": USER_AGENT, "accept-encoding": "identity"}
    headers = {**defaults, **sent.headers, **signature, "host": resolved.address.authority}
    sent = replace(sent, headers=headers)
    failure: Exception = ConnectionRefusedError()
    for ip in resolved.ips:
        try:
            reader, writer = await _connect(ip, resolved.address)
        except ssl.SSLError:
            failure = DeliveryFailed("lost", reason="tls")
        except OSError as error:
            failure = error
        else:
            try:
                return await _exchange(reader, writer, resolved.address.target, sent, limits.max_body)
            finally:
                writer.transport.abort()
    raise failure


async def _connect(ip: str, address: OutboundAddress) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to one IP address. TLS verifies the host name."""
    is_tls = address.scheme == "https"
    options: dict[str, Any] = {"ssl": _load_tls_context(), "server_hostname": address.host} if is_tls else {}
    async with asyncio.timeout(MAX_CONNECT_SECONDS):
        return await asyncio.open_connection(ip, address.port, **options)


@cache
def _load_tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str, sent: OutboundRequest, max_body: int
) -> HttpResponse:
    """Send a request over a connection of its own, and read the response.

    A client such as httpx takes several times as long for each new connection, uses the proxies of the environment,
    which resolve the name again, and logs URLs.
    """
    writer.write(_render_request(target, sent))
    with suppress(ConnectionError):  # an agent may answer before it has read everything
        await writer.drain()
    response, size = ResponseParser(), 0
    while not response.is_complete:
        data = await reader.read(READ_BYTES)
        size += len(data)
        response.feed(data)
        if response.status is None and size > MAX_HEAD_BYTES:
            raise DeliveryFailed("lost")
        _check_length(response.body, max_body)
    assert response.status is not None
    return HttpResponse(
        response.status, response.headers, _decode_body(bytes(response.body), response.headers, max_body)
    )


def _render_request(target: str, sent: OutboundRequest) -> bytes:
    has_body = bool(sent.body) or sent.method != "GET"
    length = {"content-length": str(len(sent.body))} if has_body else {}
    lines = [f"{sent.method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in {**sent.headers, **length}.items()]
    if not all(map(str.isprintable, lines)):
        raise ValueError("a header must not contain control characters")
    return "\r\n".join([*lines, "", ""]).encode() + sent.body


class ResponseParser:
    """Parses the response to one request, with the parser that our HTTP server uses."""

    def __init__(self) -> None:
        self.status: int | None = None
        """None until the head has been read."""
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self.is_complete = False
        self._parser = HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Parse some bytes, or the end of the connection if there are none. Raises DeliveryFailed."""
        if not data:
            # Without a length, the end of the connection is the end of the body (RFC 9112 §6.3).
            has_length = bool(self.headers.keys() & {"content-length", "transfer-encoding"})
            if self.status is None or has_length:
                raise DeliveryFailed("lost")
            self.is_complete = True
            return
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            if not self.is_complete:  # what follows the response does not matter
                raise DeliveryFailed("lost") from None

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; httptools calls this and the methods below."""
        key, text = name.decode("latin-1").lower(), value.decode(errors="replace")
        self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """Note the status, unless it is an interim response such as 100 Continue."""
        status = self._parser.get_status_code()
        if status < FIRST_FINAL_STATUS:
            self.headers.clear()
        else:
            self.status = status

    def on_body(self, data: bytes) -> None:
        """Add a part of the body."""
        self.body += data

    def on_message_complete(self) -> None:
        """Note the end of the response."""
        self.is_complete = self.status is not None


def _decode_body(body: bytes, headers: Mapping[str, str], max_body: int) -> bytes:
    """Decompress a body: some servers compress although the request does not allow it."""
    if not body or headers.get("content-encoding", "").strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return body
    try:
        decoded = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(body, max_body + 1)
    except zlib.error:
        raise DeliveryFailed("lost") from None
    _check_length(decoded, max_body)
    return decoded


def _check_length(body: Sized, max_body: int) -> None:
    if len(body) > max_body:
        raise DeliveryFailed("rejected", None, "response_too_large", is_final=True)


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
