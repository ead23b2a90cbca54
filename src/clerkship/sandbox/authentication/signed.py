"""Signed requests: an HMAC of the request with the token of the sandbox as the key."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from urllib.parse import quote

from clerkship.kit.clock import Clock
from clerkship.sandbox.authentication.credentials import SandboxCredentials, secrets_match
from clerkship.sandbox.authentication.scheme import REALM, HttpScheme
from clerkship.sandbox.request import ConnectionInfo, Request

_TIMESTAMP = re.compile(r"\d{1,10}(?:\.\d{1,6})?")


def canonical_string(request: Request, timestamp: str) -> str:
    """Return what is signed: five lines, joined by a line feed.

    1. the method, in upper case;
    2. the path below the URL of the sandbox, beginning with `/`, percent-encoded but for `/` and unreserved characters
       (RFC 3986 §2.3);
    3. the query: `name=value` pairs, percent-encoded in the same way (`/` too), sorted, joined by `&`;
    4. the timestamp, as the header has it;
    5. the SHA-256 of the body, in lower-case hexadecimal.
    """
    pairs = sorted(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in request.pairs)
    body = hashlib.sha256(request.body).hexdigest()
    return "\n".join((request.method.upper(), quote(request.path), "&".join(pairs), timestamp, body))


@dataclass(frozen=True)
class SignedRequest(HttpScheme):
    """A signature of method, path, query, body and time in each request: HMAC-SHA256, in hexadecimal.

    The time is simulated, in Unix seconds, with a fraction where one second has several equal requests: a signature is
    accepted once.
    """

    name: ClassVar[str] = "signature"
    credential: ClassVar[str] = "signature"
    signature_header: str = "X-Signature"
    timestamp_header: str = "X-Timestamp"
    max_skew: timedelta = timedelta(minutes=5)
    """How far the timestamp of a request may be from the simulated time."""

    def sign(self, request: Request, timestamp: str, key: str) -> str:
        return hmac.new(key.encode(), canonical_string(request, timestamp).encode(), hashlib.sha256).hexdigest()

    def verify(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> bool:
        """Return whether the signature is right, recent, and used for the first time; it counts as used then."""
        if self._problem(request, credentials, clock.now):
            return False
        signature, at, now = self._get_signature(request), self._get_time(request), clock.now
        assert at is not None
        return credentials.use_once(signature, at, now - self.max_skew)

    def _problem(self, request: Request, credentials: SandboxCredentials, now: datetime) -> str:
        """Return what is wrong with a signature apart from being used before."""
        at, timestamp = self._get_time(request), request.headers.get(self.timestamp_header.lower(), "")
        if at is None:
            return f"{self.timestamp_header} must be the simulated time in Unix seconds"
        if not secrets_match(self.sign(request, timestamp, credentials.token), self._get_signature(request)):
            return "the signature does not match the request"
        if abs(now - at) > self.max_skew:
            seconds = int(self.max_skew.total_seconds())
            return f"{self.timestamp_header} is more than {seconds} s from the simulated time"
        return ""

    def explain(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> str:
        """Return why a signature is not valid."""
        if not self._get_signature(request):
            return ""
        return self._problem(request, credentials, clock.now) or "the signature was used before"

    def challenge(self, problem: str = "") -> str:
        """Return a challenge in the form of RFC 9110 §11.6.1; HTTP has no registered scheme for this one."""
        error = f', error_description="{problem}"' if problem else ""
        return f"HMAC-SHA256 {REALM}{error}"

    def authorize(self, request: Request, credentials: SandboxCredentials, clock: Clock) -> Mapping[str, str]:
        """Return the headers with time and signature."""
        timestamp = f"{clock.now.timestamp():.6f}"
        signature = self.sign(request, timestamp, credentials.token)
        return {self.timestamp_header.lower(): timestamp, self.signature_header.lower(): signature}

    def connection_info(self, credentials: SandboxCredentials, url: str) -> ConnectionInfo:
        """Return the key, the names of the headers and the algorithm."""
        headers = {"signature_header": self.signature_header, "timestamp_header": self.timestamp_header}
        return {"key": credentials.token, **headers, "algorithm": "HMAC-SHA256"}

    def _get_signature(self, request: Request) -> str:
        return request.headers.get(self.signature_header.lower(), "")

    def _get_time(self, request: Request) -> datetime | None:
        timestamp = request.headers.get(self.timestamp_header.lower(), "")
        return datetime.fromtimestamp(float(timestamp), UTC) if _TIMESTAMP.fullmatch(timestamp) else None
