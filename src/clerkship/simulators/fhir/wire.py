"""HTTP as FHIR uses it: media types, preconditions, preferences, bodies (R4 http: general considerations)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from clerkship.fhir import exact
from clerkship.sandbox.exchange import Reply
from clerkship.simulators.fhir.draft import Draft
from clerkship.simulators.fhir.elements import MAX_BUNDLE_ELEMENTS, MAX_RESOURCE_ELEMENTS, check_elements
from clerkship.simulators.fhir.nesting import nesting
from clerkship.simulators.fhir.outcome import FHIR_JSON, refusal
from clerkship.simulators.fhir.references import make_relative
from clerkship.simulators.fhir.versions import Tags, Version, http_date, moment_of

Pairs = tuple[tuple[str, str], ...]
JSON_PATCH = "application/json-patch+json"
FORM = "application/x-www-form-urlencoded"
GENERAL = frozenset({"_format", "_pretty"})
"""Parameters that any request may have (R4 http: general parameters)."""
_JSON = frozenset({"json", FHIR_JSON, "application/json", "text/json", "application/json+fhir"})
_ANY = frozenset({"*/*", "application/*", "*", ""})
_ETAG = re.compile(r'(?:W/)?"([A-Za-z0-9\-.]{1,64})"')
MOST_TAGS = 1000
_RETURNS = frozenset({"minimal", "representation", "OperationOutcome"})


@dataclass(slots=True)
class Ask:
    """One interaction that is asked for, on its own or as an entry of a bundle."""

    draft: Draft
    params: Mapping[str, str]
    pairs: Pairs = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    path: str = "/"
    given: Any = None
    """The body as plain data, where it came inside another."""

    @property
    def key(self) -> str:
        """The resource that its address names."""
        return f"{self.params['type']}/{self.params['id']}"

    @property
    def strict(self) -> bool:
        """Whether a parameter that is not known is an error (R4 search, handling errors: Prefer)."""
        return preferences(self.headers.get("prefer", "")).get("handling") != "lenient"


@dataclass(slots=True)
class Answer:
    """What an interaction leads to."""

    status: int
    body: bytes = b""
    version: Version | None = None
    """The version that the body is, or that was written."""
    key: str = ""
    """The resource that was written."""
    told: str = ""
    """What there is to say of a write, where that is all there is to show."""


@lru_cache(maxsize=256)
def preferences(header: str) -> Mapping[str, str]:
    """What the client would like (RFC 7240)."""
    parts = (part.partition("=") for part in re.split(r"[,;]", header))
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in parts if name.strip()}


def preferred_return(headers: Mapping[str, str], usual: str) -> str:
    """What is to be shown of a write."""
    said = preferences(headers.get("prefer", "")).get("return", usual)
    return said if said in _RETURNS else usual


@lru_cache(maxsize=256)
def _accepts(header: str) -> bool:
    return any(_is_json(part) for part in header.split(","))


def _is_json(media: str) -> bool:
    name, _, rest = media.partition(";")
    version = re.search(r"fhirVersion\s*=\s*\"?([\d.]+)", rest)
    if version is not None and not re.fullmatch(r"4\.0(\.\d+)?", version[1]):
        return False
    return name.strip().lower() in _JSON or name.strip() in _ANY


def check_format(headers: Mapping[str, str], format: str | None) -> None:
    """Whether the answer can be as it is wanted: `_format` before Accept (R4 http: content types)."""
    wanted = headers.get("accept", "") if format is None else format.replace(" ", "+")
    if not _accepts(wanted):
        raise refusal(406, "not-supported", f"this server answers in {FHIR_JSON}, R4 (4.0); not in {wanted[:100]}")


def check_content(headers: Mapping[str, str], *allowed: str) -> None:
    """Whether a body is said to be something that can be read here."""
    packed = headers.get("content-encoding", "identity")
    if packed != "identity":
        raise refusal(415, "not-supported", f"a body is sent as it is, not as {packed[:80]}")
    said = headers.get("content-type", "")
    name = said.partition(";")[0].strip().lower()
    if not (_is_json(said) if name in _JSON and FHIR_JSON in allowed else name in allowed):
        what = f"it is {name[:80]}" if name else "nothing is said of what it is"
        raise refusal(415, "not-supported", f"the body must be {' or '.join(allowed)}; {what}")


def parse_json(body: bytes, depth: int, limit: int = MAX_RESOURCE_ELEMENTS) -> Any:
    """Parse a body, with every digit kept; refuse one that has too many elements or is nested too deep."""
    check_elements(body, limit)
    try:
        data = exact.loads(body)
    except (ValueError, RecursionError):
        raise refusal(400, "structure", "the body is not JSON" if body else "there is no body") from None
    opened = body.count(b"{") + body.count(b"[")  # no more levels than that: most bodies need no second look
    if opened > depth and nesting(data, depth) > depth:
        raise refusal(400, "too-costly", f"the body is nested more than {depth} deep")
    return data


def body_of(ask: Ask, limit: int | None = None) -> Any:
    """Return the resource that was sent, with as many elements as its type may have unless a limit is given."""
    if ask.given is not None:
        return ask.given
    check_content(ask.headers, FHIR_JSON)
    if limit is None:
        limit = MAX_BUNDLE_ELEMENTS if ask.params.get("type") == "Bundle" else MAX_RESOURCE_ELEMENTS
    data = parse_json(ask.body, ask.draft.settings.max_depth, limit)
    base = ask.draft.base
    # By the host's name: the slashes before it may be escaped.
    return make_relative(data, base) if base and base.rpartition("/")[2].encode() in ask.body else data


def patch_of(ask: Ask) -> Any:
    """The patch that was sent. R4 has others (XML, FHIRPath), which this server has not."""
    if ask.given is not None:
        return ask.given
    check_content(ask.headers, JSON_PATCH, FHIR_JSON)
    found = parse_json(ask.body, ask.draft.settings.max_depth)
    if isinstance(found, dict):
        raise refusal(415, "not-supported", f"patches are JSON Patch, an array in {JSON_PATCH}; FHIRPath Patch is not")
    return found


def if_match(headers: Mapping[str, str]) -> Tags | None:
    """The versions a change is meant for."""
    return _tags(headers.get("if-match"))


def if_none_match(headers: Mapping[str, str]) -> Tags | None:
    """The versions that the client has."""
    return _tags(headers.get("if-none-match"))


def _tags(header: str | None) -> Tags | None:
    """One or several (RFC 9110 §13.1.1), or `*` for whichever there is."""
    if header is None:
        return None
    if header.strip() == "*":
        return ("*",)
    found = [_ETAG.fullmatch(part.strip()) for part in header.split(",")]
    if len(found) > MOST_TAGS or not all(found):
        raise refusal(400, "value", f'a version is written W/"3", not {header[:80]}')
    return tuple(tag[1] for tag in found if tag is not None)


def modified_since(headers: Mapping[str, str]) -> datetime | None:
    """The moment of If-Modified-Since, which in an entry of a Bundle is an instant; one that is no date is left out of
    account (RFC 9110 §13.1.3)."""
    said = headers.get("if-modified-since")
    if said is None:
        return None
    try:
        moment = moment_of(said) or parsedate_to_datetime(said)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)  # HTTP has no other (RFC 9110 §5.6.7)


def head_of(version: Version) -> dict[str, str]:
    """The headers that say which version a body is."""
    headers = {"ETag": version.etag}
    if version.updated:
        headers["Last-Modified"] = http_date(version.updated)
    return headers


def prettily(reply: Reply) -> Reply:
    """The same reply, for people to read."""
    body = exact.pretty(exact.loads(reply.body)) if reply.body else b""
    return Reply(reply.status, body, reply.media, reply.headers)
