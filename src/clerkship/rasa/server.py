"""A Rasa server: its address, its credentials, and the meaning of its refusals."""

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote

import orjson

from clerkship.actors.messages import excerpt

API_HINT = "start it with `rasa run --enable-api`, and the `rest` channel in credentials.yml"
HINTS = {
    401: "set CLERKSHIP_RASA_TOKEN, CLERKSHIP_RASA_JWT or CLERKSHIP_RASA_JWT_SECRET as the server was started",
    403: "the JWT must be that of an admin: {'user': {'username': …, 'role': 'admin'}}",
    404: API_HINT,
    405: API_HINT,
    409: "train a model, and start the server with it",
}
"""Hints for refusals that are caused by the setup of the server, not by the assistant."""
_STATUS_MEANINGS = {
    401: "requires authentication",
    403: "denies access",
    404: "has no such endpoint",
    405: "does not support the method",
    409: "has no model loaded",
}


_EMPTY_BODIES = (b"", b"{}", b"[]", b"null")


def _encode_base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def sign_jwt(secret: str) -> str:
    """Return a JWT of an admin, signed with HMAC-SHA256 (RFC 7515, HS256), which allows the use of Rasa's whole API."""
    claims = {"user": {"username": "clerkship", "role": "admin"}}
    signed = (
        f"{_encode_base64url(orjson.dumps({'alg': 'HS256', 'typ': 'JWT'}))}.{_encode_base64url(orjson.dumps(claims))}"
    )
    return f"{signed}.{_encode_base64url(hmac.digest(secret.encode(), signed.encode(), hashlib.sha256))}"


@dataclass(frozen=True)
class RasaCredentials:
    """The credentials for a server. They are never shown or stored."""

    token: str = field(default="", repr=False)
    jwt: str = field(default="", repr=False)
    jwt_secret: str = field(default="", repr=False)

    @cached_property
    def bearer(self) -> str:
        """The given JWT, or one signed with the given secret."""
        return self.jwt or (sign_jwt(self.jwt_secret) if self.jwt_secret else "")

    @cached_property
    def all(self) -> tuple[str, ...]:
        """All texts that must be redacted, plain and URL-encoded, the longest first."""
        keys = {self.token, quote(self.token, safe=""), self.jwt, self.jwt_secret, self.bearer}
        return tuple(sorted(filter(None, keys), key=len, reverse=True))


@dataclass(frozen=True)
class RasaServer:
    """The address of a server, and its credentials."""

    address: str
    host: str
    keys: RasaCredentials

    @property
    def name(self) -> str:
        """The name of the agent."""
        return f"rasa:{self.address}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        return {"authorization": f"Bearer {self.keys.bearer}"} if self.keys.bearer else {}

    def url(self, path: str) -> str:
        """Return the URL of a path, including the token."""
        if not self.keys.token:
            return f"{self.address}{path}"
        return f"{self.address}{path}{'&' if '?' in path else '?'}token={quote(self.keys.token, safe='')}"

    def redacted(self, text: str) -> str:
        """Return a text without credentials. Servers may echo them, and their answers are stored and shown."""
        for key in self.keys.all:
            text = text.replace(key, "[key]")
        return text

    def shown(self, data: bytes) -> str:
        """Return an answer of the server for a message."""
        return self.redacted(excerpt(data))


def describe_refusal(server: RasaServer, path: str, status: int, location: str, data: bytes) -> str:
    """Return the meaning of a status in words; empty for success."""
    if 200 <= status < 300:
        return ""
    path = path.partition("?")[0]
    if 300 <= status < 400:
        target = server.redacted(location[:300]) or "no address"
        return f"{server.host} redirects ({status}) {path} to {target}; redirects are not followed, so use that address"
    if status in _STATUS_MEANINGS:
        reason = f": {server.shown(data)}" if data.strip() not in _EMPTY_BODIES else ""
        return f"{server.host} {_STATUS_MEANINGS[status]} ({status} at {path}){reason}"
    return f"{server.host} answered {path} with status {status}: {server.shown(data)}"
