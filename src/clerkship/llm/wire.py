"""HTTP to the outside: addresses as people give them, clients, and replies of a bounded size."""

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from clerkship.model.problem import InputError

if TYPE_CHECKING:
    import httpx

CONNECT_WITHIN = 10.0
_LOOPBACK = ("localhost", "127.", "[::1]")


class TooLarge(Exception):
    """A reply goes on and on."""


def parse_address(text: str, name: str, who: str = "agent") -> str:
    """An http or https address, without a password in it: addresses are shown and kept."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise InputError.of(f"the {who}'s address has a password in it, and addresses are kept", hint="leave it out")
    if not usable or not text.isprintable() or " " in text:
        raise InputError.of(f"{who} {name}: `{text}` is no address", hint="write http://host/path or https://host/path")
    return text


def open_client(address: str, read_within: float | None) -> "httpx.AsyncClient":
    """A client for one conversation with one server: no redirects; a proxy only where it is not this machine."""
    import httpx  # noqa: PLC0415  (most agents need no HTTP, and it takes a tenth of a second)

    near = urlsplit(address).netloc.startswith(_LOOPBACK)
    timeout = httpx.Timeout(CONNECT_WITHIN, read=read_within)
    return httpx.AsyncClient(timeout=timeout, verify=_trust(), trust_env=not near, follow_redirects=False)


@cache
def _trust() -> Any:
    """The certificates to trust, read once."""
    import httpx  # noqa: PLC0415  (as above)

    return httpx.create_ssl_context()


async def post(
    client: "httpx.AsyncClient", address: str, headers: dict[str, str], body: bytes, limit: int
) -> "tuple[httpx.Response, bytes]":
    """The reply's head and its body, read no further than the limit."""
    sent = {"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity"}
    data, over = bytearray(), False
    try:
        async with (
            asyncio.timeout(None) as reading,
            client.stream("POST", address, content=body, headers=sent | headers) as response,
        ):
            async for chunk in response.aiter_bytes():
                if len(data) <= limit:
                    data += chunk
                elif not over:
                    # Not simply left: the generators below would stay half read, for nobody to close.
                    over = True
                    reading.reschedule(asyncio.get_running_loop().time())
    except TimeoutError:
        raise TooLarge from None
    if len(data) > limit:
        raise TooLarge
    return response, bytes(data)
