"""Where the server is: as the client has it, and as the store and the log have it, the same on every machine."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from clerkship.sandbox.exchange import Reply


class Address:
    """Both of them. What comes in with the one is taken in with the other, and goes out as it came."""

    def __init__(self, outside: str = "") -> None:
        self.outside = outside
        self.inside = _inside(outside)
        self._differs = self.outside != self.inside
        path = urlsplit(outside).path
        self._part = max(path.split("/"), key=len)
        """Stands in whatever has the address in it, with or without backslashes: cheap to look for."""
        # Whatever the host is called: the path has a name in it that nobody else has, and machines have several.
        spelled = r"https?:" + f"//[A-Za-z0-9.:\\-\\[\\]]+{re.escape(path)}".replace("/", r"\\?/") + r"(?![\w\-])"
        self._text, self._json = re.compile(spelled), re.compile(spelled.encode())

    def text_in(self, text: str) -> str:
        """As the store has it."""
        return self._text.sub(self.inside, text) if self._differs and self._part in text else text

    def json_in(self, body: bytes) -> bytes:
        """The same for a body, which may be JSON with its slashes escaped."""
        if not self._differs or self._part.encode() not in body:
            return body
        return self._json.sub(self.inside.encode(), body)

    def pairs_in(self, pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """The same for what stands behind the `?`."""
        return tuple((name, self.text_in(value)) for name, value in pairs)

    def reply_out(self, reply: Reply) -> Reply:
        """As the client has it."""
        if not self._differs:
            return reply
        headers: Mapping[str, str] = reply.headers
        if "Location" in headers:
            headers = {**headers, "Location": headers["Location"].replace(self.inside, self.outside)}
        body = reply.body.replace(self.inside.encode(), self.outside.encode())
        return Reply(reply.status, body, reply.media, headers)


def _inside(outside: str) -> str:
    """`http://ehr.invalid` (RFC 6761 §6.4: nobody's), which is also what an agent in this process has."""
    name = urlsplit(outside).path.rpartition("/")[2]
    return f"http://{name}.invalid" if name else outside


@lru_cache(maxsize=64)
def address_of(base: str) -> Address:
    """The address of a server that a client finds there."""
    return Address(base)


NOWHERE = Address()
"""For what is done without anybody asking over a door."""
