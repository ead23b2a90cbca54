"""Read the bodies of HTTP responses up to a limit."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx


class ResponseTooLarge(Exception):
    """The body of a response exceeds the limit."""


async def read_response(
    opened: "AbstractAsyncContextManager[httpx.Response]", limit: int
) -> "tuple[httpx.Response, bytes]":
    """Return a response and its body; raise ResponseTooLarge if the body exceeds the limit."""
    data, over = bytearray(), False
    try:
        async with asyncio.timeout(None) as reading, opened as response:
            async for chunk in response.aiter_bytes():
                if len(data) <= limit:
                    data += chunk
                elif not over:
                    # A timeout, not a break: leaving the loop would leave the generators below it unclosed.
                    over = True
                    reading.reschedule(asyncio.get_running_loop().time())
    except TimeoutError:
        raise ResponseTooLarge from None
    if len(data) > limit:
        raise ResponseTooLarge
    return response, bytes(data)
