"""Outgoing HTTP: addresses that users give, clients, and responses of limited size."""

import logging
import re
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clerkship.kit.http_body import ResponseTooLarge, read_response
from clerkship.model.errors import InputError

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT = 10.0
PREFLIGHT_CONNECT_TIMEOUT = 5.0
PREFLIGHT_ANSWER_TIMEOUT = 2.0
_LOOPBACK = ("localhost", "127.", "[::1]")


def parse_address(text: str, name: str, who: str = "agent") -> str:
    """Return an http or https address; raise InputError if it contains a password, because addresses are stored and
    shown.
    """
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise InputError.of(f"the {who}'s address contains a password, and addresses are stored", hint="remove it")
    if not usable or not text.isprintable() or " " in text:
        raise InputError.of(
            f"{who} {name}: `{text}` is not an address", hint="write http://host/path or https://host/path"
        )
    return text


class _TokenFilter(logging.Filter):
    """Remove tokens from the addresses that httpx logs: some servers expect their key there."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                _TOKEN.sub(r"\1…", str(part)) if "token=" in str(part) else part for part in record.args
            )
        return True


_TOKEN = re.compile(r"([?&]token=)[^&\s]*")
logging.getLogger("httpx").addFilter(_TokenFilter())


def open_client(address: str, read_within: float | None) -> "httpx.AsyncClient":
    """Return a client for one server: no redirects, and no proxy for this machine."""
    import httpx  # noqa: PLC0415  (most agents need no HTTP, and it takes a tenth of a second)

    timeout = httpx.Timeout(CONNECT_TIMEOUT, read=read_within)
    return httpx.AsyncClient(timeout=timeout, **_client_options(address))


def _client_options(address: str) -> dict[str, Any]:
    return {"verify": _ssl_context(), "trust_env": not is_loopback(address), "follow_redirects": False}


def is_loopback(address: str) -> bool:
    """Return whether an address is on this machine."""
    return urlsplit(address).netloc.startswith(_LOOPBACK)


@cache
def _ssl_context() -> Any:
    import httpx  # noqa: PLC0415  (as above)

    return httpx.create_ssl_context()


JSON_HEADERS = {"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity"}


async def post(
    client: "httpx.AsyncClient", address: str, headers: dict[str, str], body: bytes, limit: int
) -> "tuple[httpx.Response, bytes]":
    """Post a body; return the response and its body, up to the limit."""
    return await read_response(client.stream("POST", address, content=body, headers=JSON_HEADERS | headers), limit)


async def get(
    client: "httpx.AsyncClient", address: str, headers: dict[str, str], limit: int
) -> "tuple[httpx.Response, bytes]":
    """Return the response of an address and its body, up to the limit."""
    return await read_response(client.stream("GET", address, headers=JSON_HEADERS | headers), limit)


def open_blocking_client(address: str, within: float) -> "httpx.Client":
    """Return a client for one server without an event loop, which waits at most `within` seconds for each part."""
    import httpx  # noqa: PLC0415  (as above)

    timeout = httpx.Timeout(within, connect=min(within, CONNECT_TIMEOUT))
    return httpx.Client(timeout=timeout, **_client_options(address))


def fetch(address: str, headers: dict[str, str], limit: int, within: float) -> "tuple[httpx.Response, bytes]":
    """Fetch an address without an event loop, for planning."""
    data = bytearray()
    with (
        open_blocking_client(address, within) as client,
        client.stream("GET", address, headers=JSON_HEADERS | headers) as response,
    ):
        for chunk in response.iter_bytes():
            data += chunk
            if len(data) > limit:
                raise ResponseTooLarge
    return response, bytes(data)


def check_reachable(address: str, name: str) -> None:
    """Connect to an agent's address; raise InputError if that fails.

    Sends an OPTIONS request, which has no effect on a server (RFC 9110, 9.3.7). Any answer counts, and so does none
    after the connection was made.
    """
    import httpx  # noqa: PLC0415  (as above)

    timeout = httpx.Timeout(PREFLIGHT_ANSWER_TIMEOUT, connect=PREFLIGHT_CONNECT_TIMEOUT)
    try:
        with httpx.Client(timeout=timeout, **_client_options(address)) as client, client.stream("OPTIONS", address):
            return
    except httpx.ConnectTimeout:
        reason = f"no answer within {PREFLIGHT_CONNECT_TIMEOUT:g} seconds"
    except (httpx.ConnectError, httpx.ProxyError) as error:
        reason = str(error) or type(error).__name__
    except httpx.HTTPError:
        return
    raise InputError.of(
        f"agent {name}: cannot connect to {urlsplit(address).netloc}: {reason}",
        hint="start the agent's server, or correct the address",
    )
