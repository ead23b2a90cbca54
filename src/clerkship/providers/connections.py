"""Connections to a provider of models.

`http.client` rather than httpx: a call takes a third of the processor time (`make bench-models`).
"""

import base64
import http.client
import os
import socket
import ssl
import threading
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

from clerkship.kit.http_client import CONNECT_TIMEOUT, is_loopback
from clerkship.providers.contract import ProviderName

READ_TIMEOUT = 600.0
"""Seconds between two parts of a response, as in the clients of the providers. The limits of the trial are shorter."""
MAX_IDLE_CONNECTIONS = 64
MIN_KEY_LENGTH = 12
"""The shortest text that is treated as a key."""
CHUNK_BYTES = 65_536
_PROXY_PORT = 80
_DEFAULT_HEADERS: Mapping[ProviderName, Mapping[str, str]] = {"anthropic": {"anthropic-version": "2026-10-21"}}
"""Headers that an API requires, for clients that do not send them."""
_VERSIONS_WITH_OWN_HEADER = frozenset({"2023-01-01", "2023-06-01"})
"""Versions of Anthropic's API that take the key as `x-api-key`; clients of newer ones send a bearer token."""
_LOST = (ConnectionError, http.client.RemoteDisconnected, http.client.CannotSendRequest, BrokenPipeError)
"""Raised by a kept connection that the provider has closed meanwhile."""


class RequestStop:
    """Stops one request from any thread: while it connects, is sent, and is answered."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        """The time after which the caller stops the request; None if it does not."""
        self.is_stopped = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def attach(self, connected: socket.socket) -> None:
        """Use a connection from now on. Raises ConnectionAbortedError if the request is stopped already."""
        with self._lock:
            self._release()
            if self.is_stopped:
                raise ConnectionAbortedError("the request was stopped")
            # A descriptor of its own: the connection may be wrapped by TLS, closed, or used by another request.
            descriptor = os.dup(connected.fileno())
            self._socket = socket.socket(connected.family, connected.type, connected.proto, descriptor)

    def detach(self) -> None:
        """Leave the connection, because the response was read or its end is not wanted."""
        with self._lock:
            self._release()

    def stop(self) -> None:
        """Stop the request: a thread that waits for the provider is woken."""
        with self._lock:
            self.is_stopped = True
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
            self._release()

    def _release(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class ProviderAccount(NamedTuple):
    """Where a provider is reached, and with which key."""

    name: ProviderName
    base_url: str
    key: str
    variable: str
    """The environment variable of the key, for error messages."""
    header: str = ""
    """The header with the key, if it is not the usual one of the API."""
    query: Mapping[str, str] = {}
    """The query of each request."""

    @property
    def host(self) -> str:
        """The host, for error messages."""
        return urlsplit(self.base_url).netloc

    def build_headers(self, sent: Mapping[str, str]) -> dict[str, str]:
        """Return the headers with the key, for a request with these headers."""
        if not self.key:
            return {}
        if self.header:
            return {self.header: self.key}
        if self.name == "gemini":
            return {"x-goog-api-key": self.key}
        if sent.get("anthropic-version", "") in _VERSIONS_WITH_OWN_HEADER:
            return {"x-api-key": self.key}
        return {"authorization": f"Bearer {self.key}"}

    def redact_key(self, text: str) -> str:
        """Remove the key from a server's text, which may be stored and shown.

        A very short key is a placeholder such as `none`; it is not replaced, because it may be part of ordinary words.
        """
        return text.replace(self.key, "[key]") if len(self.key) >= MIN_KEY_LENGTH else text


class ProviderFailed(Exception):
    """The provider could not be reached, or its response broke off."""


class ResponseTooLong(ProviderFailed):
    """A response is longer than is read."""


class ProviderResponse:
    """A response whose body is read in parts."""

    def __init__(
        self,
        host: "ProviderHost",
        connection: http.client.HTTPConnection,
        given: http.client.HTTPResponse,
        stop: RequestStop,
    ) -> None:
        self._host, self._connection, self._response, self._stop = host, connection, given, stop
        self.status = given.status
        self.headers = {name.lower(): value for name, value in given.getheaders()}

    def read(self) -> bytes:
        """Return the next part of the body as soon as it arrives; empty at its end. Raises ProviderFailed."""
        try:
            data = self._response.read1(CHUNK_BYTES)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:  # also: closed meanwhile
            self.close()
            raise ProviderFailed(f"the response of {self._host.name} broke off: {describe(error)}") from None
        if not data:
            if self._response.length:  # fewer bytes came than were declared
                self.close()
                raise ProviderFailed(f"the response of {self._host.name} broke off")
            self._response.close()  # a connection accepts no other request before
            self._stop.detach()
            self._host.give_back(self._connection, reusable=not self._response.will_close)
        return data

    def read_all(self, limit: int) -> bytes:
        """Return the whole body. Raises ProviderFailed, and ResponseTooLong if it has more bytes than the limit."""
        data = bytearray()
        while part := self.read():
            data += part
            if len(data) > limit:
                self.close()
                raise ResponseTooLong(f"the response of {self._host.name} has more than {limit:,} bytes")
        return bytes(data)

    def close(self) -> None:
        """Stop reading. Can be called from any thread: a thread that waits for data is woken."""
        self._stop.stop()
        self._response.close()
        self._connection.close()


class ProviderHost:
    """The connections to one provider, which calls share one after another."""

    def __init__(self, account: ProviderAccount) -> None:
        self.account = account
        parts = urlsplit(account.base_url)
        self.name = parts.netloc
        self._scheme, self._host, self._port = parts.scheme, parts.hostname or "", parts.port
        self._path = parts.path.rstrip("/")
        self._proxy = None if is_loopback(account.base_url) else _find_proxy(parts.scheme, self._host)
        self._proxy_headers = {} if self._proxy is None else _build_proxy_headers(self._proxy)
        self._default_headers = dict(_DEFAULT_HEADERS.get(account.name, {}))
        if parts.scheme == "http":
            self._default_headers |= self._proxy_headers
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._closed = False

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
        stop: RequestStop | None = None,
    ) -> ProviderResponse:
        """Send a request and return the response, whose body is not read yet. Raises ProviderFailed."""
        stop = stop or RequestStop()
        target = f"{self._path}{quote(path, safe='/:@!$&()*+,;=~')}"
        query = {**self.account.query, **query}
        if query:
            target += f"?{urlencode(query)}"
        if self._proxy is not None and self._scheme == "http":
            target = f"http://{self.name}{target}"
        sent = {"host": self.name, "accept-encoding": "identity", **self._default_headers, **headers}
        sent |= self.account.build_headers(sent)
        with self._lock:
            kept = self._idle.pop() if self._idle else None
        try:
            if kept is not None:
                try:
                    stop.attach(kept.sock)
                    return self._exchange(kept, method, target, sent, body, stop)
                except _LOST:
                    kept.close()
                    if stop.is_stopped:  # it is not sent again
                        raise
            return self._exchange(self._connect(stop), method, target, sent, body, stop)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:  # also: stopped meanwhile
            raise ProviderFailed(f"{self.name} cannot be reached: {describe(error)}") from None

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        headers: dict[str, str],
        body: bytes,
        stop: RequestStop,
    ) -> ProviderResponse:
        try:
            connection.sock.settimeout(READ_TIMEOUT if stop.seconds is None else None)
            connection.request(method, target, body or None, headers)
            return ProviderResponse(self, connection, connection.getresponse(), stop)
        except BaseException:
            connection.close()
            stop.detach()
            raise

    def _connect(self, stop: RequestStop) -> http.client.HTTPConnection:
        if self._proxy is None:
            host, port = self._host, self._port
        else:
            host, port = self._proxy.hostname or "", self._proxy.port or _PROXY_PORT
        timeout = CONNECT_TIMEOUT if stop.seconds is None else min(CONNECT_TIMEOUT, stop.seconds)
        if self._scheme == "http":
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=_ssl_context())
            if self._proxy is not None:
                connection.set_tunnel(self._host, self._port or 443, self._proxy_headers)
        connection._create_connection = partial(_open_socket, stop)  # type: ignore[attr-defined]  # before TLS
        try:
            connection.connect()
        except BaseException:
            connection.close()
            stop.detach()
            raise
        return connection

    def give_back(self, connection: http.client.HTTPConnection, *, reusable: bool) -> None:
        """Keep a connection whose response was read for the next call, or close it."""
        with self._lock:
            if reusable and not self._closed and len(self._idle) < MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the connections that no call uses."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _open_socket(
    stop: RequestStop, address: tuple[str, int], timeout: float, source_address: tuple[str, int] | None = None
) -> socket.socket:
    """Connect, so that the rest of the request, such as the handshake of TLS, can be stopped."""
    opened = socket.create_connection(address, timeout, source_address)
    try:
        stop.attach(opened)
    except BaseException:
        opened.close()
        raise
    return opened


def describe(error: BaseException) -> str:
    """Return the text of an error, or its name if it has none."""
    return str(error) or type(error).__name__


@cache
def _ssl_context() -> ssl.SSLContext:
    import httpx  # noqa: PLC0415  (only for its certificates, and it takes a tenth of a second)

    return httpx.create_ssl_context()


def _find_proxy(scheme: str, host: str) -> SplitResult | None:
    """Return the proxy that the environment names for a host."""
    proxies = urllib.request.getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    if not address or urllib.request.proxy_bypass(host):
        return None
    return urlsplit(address if "://" in address else f"http://{address}")


def _build_proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    words = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": f"Basic {base64.b64encode(words.encode()).decode()}"}
