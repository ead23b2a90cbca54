"""Connections to a provider of models.

`http.client` rather than httpx: a call takes a third of the processor time (`make bench-models`).
"""

import base64
import http.client
import socket
import ssl
import threading
import urllib.request
from collections.abc import Callable, Mapping
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
_LOST = (ConnectionError, http.client.RemoteDisconnected, http.client.CannotSendRequest, BrokenPipeError)
"""Raised by a kept connection that the provider has closed meanwhile."""


OnSent = Callable[[Callable[[], None]], None]


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

    @property
    def headers(self) -> dict[str, str]:
        """The headers with the key."""
        if not self.key:
            return {}
        if self.header:
            return {self.header: self.key}
        if self.name == "openai":
            return {"authorization": f"Bearer {self.key}"}
        return {"x-api-key" if self.name == "anthropic" else "x-goog-api-key": self.key}

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
        self, host: "ProviderHost", connection: http.client.HTTPConnection, given: http.client.HTTPResponse
    ) -> None:
        self._host, self._connection, self._response = host, connection, given
        self._socket = connection.sock or getattr(getattr(given.fp, "raw", None), "_sock", None)
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
        if self._socket is not None:  # a response that ends with its connection has taken it over
            _shut_down(self._socket)
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
        on_sent: OnSent = lambda stop: None,
    ) -> ProviderResponse:
        """Send a request and return the response, whose body is not read yet. Raises ProviderFailed.

        `on_sent` is given a function that stops waiting for the response, from any thread.
        """
        target = f"{self._path}{quote(path, safe='/:@!$&()*+,;=~')}"
        query = {**self.account.query, **query}
        if query:
            target += f"?{urlencode(query)}"
        if self._proxy is not None and self._scheme == "http":
            target = f"http://{self.name}{target}"
        sent = {"host": self.name, "accept-encoding": "identity", **headers, **self.account.headers}
        with self._lock:
            kept = self._idle.pop() if self._idle else None
        try:
            if kept is not None:
                try:
                    return self._exchange(kept, method, target, sent, body, on_sent)
                except _LOST:
                    kept.close()
            return self._exchange(self._connect(), method, target, sent, body, on_sent)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:  # also: stopped meanwhile
            raise ProviderFailed(f"{self.name} cannot be reached: {describe(error)}") from None

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        headers: dict[str, str],
        body: bytes,
        on_sent: OnSent,
    ) -> ProviderResponse:
        try:
            connection.request(method, target, body or None, headers)
            on_sent(partial(_shut_down, connection.sock))
            return ProviderResponse(self, connection, connection.getresponse())
        except BaseException:
            connection.close()
            raise

    def _connect(self) -> http.client.HTTPConnection:
        host, port = (self._host, self._port) if self._proxy is None else (self._proxy.hostname or "", self._proxy.port)
        if self._scheme == "http":
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_TIMEOUT)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=CONNECT_TIMEOUT, context=_ssl_context())
            if self._proxy is not None:
                connection.set_tunnel(
                    self._host, self._port or 443, _proxy_headers(self._proxy.username, self._proxy.password)
                )
        connection.connect()
        connection.sock.settimeout(READ_TIMEOUT)
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


def _shut_down(connected: socket.socket) -> None:
    """End a connection in both directions, which wakes a thread that waits for data."""
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def describe(error: BaseException) -> str:
    """Return the text of an error, or its name if it has none."""
    return str(error) or type(error).__name__


@cache
def _ssl_context() -> ssl.SSLContext:
    import httpx  # noqa: PLC0415  (only for its certificates, and it takes a tenth of a second)

    return httpx.create_ssl_context()


def _find_proxy(scheme: str, host: str) -> SplitResult | None:
    """Return the proxy that the environment names for a host."""
    address = urllib.request.getproxies().get(scheme)
    if not address or urllib.request.proxy_bypass(host):
        return None
    return urlsplit(address if "://" in address else f"http://{address}")


def _proxy_headers(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    words = f"{unquote(user)}:{unquote(password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(words.encode()).decode()}"}
