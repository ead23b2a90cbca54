"""The entries of a batch or a transaction, as requests (R4 http: batch/transaction)."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from clerkship.sandbox.request import Refusal
from clerkship.simulators.fhir.body import parse_json
from clerkship.simulators.fhir.inputs import QueryPairs
from clerkship.simulators.fhir.outcome import JSON_PATCH, FhirRefusal, refusal, to_issues
from clerkship.simulators.fhir.transaction import Interaction, Transaction

_HEADERS = {
    "ifMatch": "if-match",
    "ifNoneMatch": "if-none-match",
    "ifNoneExist": "if-none-exist",
    "ifModifiedSince": "if-modified-since",
}
MAX_CONDITIONS = 1000
METHODS = ("DELETE", "POST", "PUT", "PATCH", "GET", "HEAD")


@dataclass(slots=True)
class BundleEntry:
    """One entry: a request for an interaction."""

    number: int
    method: str
    path: str
    pairs: QueryPairs
    headers: Mapping[str, str] = field(default_factory=dict)
    full_url: str = ""
    resource: Any = None
    key: str = ""
    """The resource it is about, once that is known."""
    interaction: Interaction[Any] | None = None
    """The interaction, once it is known."""
    input: Any = None

    @property
    def location(self) -> str:
        """Its place in the Bundle."""
        return f"Bundle.entry[{self.number}]"


def parse_bundle(data: Any, max_entries: int) -> tuple[str, list[Any]]:
    """Return the type and the entries of a Bundle."""
    if not isinstance(data, dict) or data.get("resourceType") != "Bundle":
        raise refusal(400, "structure", "a Bundle is expected here, of type batch or transaction")
    type, entries = data.get("type"), data.get("entry", [])
    if type not in ("batch", "transaction"):
        raise refusal(400, "value", "the Bundle must be of type batch or transaction", "Bundle.type")
    if not isinstance(entries, list):
        raise refusal(400, "structure", "`entry` is an array", "Bundle.entry")
    if len(entries) > max_entries:
        raise refusal(413, "too-costly", f"a Bundle may have {max_entries} entries, not {len(entries)}")
    if sum(map(_is_conditional, entries)) > MAX_CONDITIONS:
        raise refusal(413, "too-costly", f"a Bundle may have {MAX_CONDITIONS} entries with a condition")
    return type, entries


def _is_conditional(entry: Any) -> bool:
    """Return whether an entry writes what a search finds: each such search looks at all that was written before it."""
    request = entry.get("request") if isinstance(entry, dict) else None
    if not isinstance(request, dict) or request.get("method") in ("GET", "HEAD"):
        return False
    return "ifNoneExist" in request or "?" in str(request.get("url"))


def parse_entry(number: int, data: Any, transaction: Transaction) -> BundleEntry:
    """Read an entry as a request."""
    location = f"Bundle.entry[{number}]"
    request = data.get("request") if isinstance(data, dict) else None
    if not isinstance(request, dict):
        raise refusal(400, "required", "an entry has a `request` with `method` and `url`", location)
    method, url, full_url = request.get("method"), request.get("url"), data.get("fullUrl", "")
    if method not in METHODS:
        raise refusal(400, "value", f"`method` is one of {', '.join(METHODS)}", f"{location}.request.method")
    if not isinstance(url, str) or not isinstance(full_url, str):
        raise refusal(400, "value", "`url` and `fullUrl` are text", f"{location}.request.url")
    path, _, query = _make_relative(url, transaction.base).partition("?")
    pairs = transaction.address.rewrite_pairs(parse_qsl(query, keep_blank_values=True))
    entry = BundleEntry(
        number, method, f"/{unquote(path)}", pairs, _parse_headers(request, location), full_url, data.get("resource")
    )
    if method in ("POST", "PUT", "PATCH") and entry.resource is None:
        raise refusal(400, "required", f"a {method} has a `resource`", f"{location}.resource")
    if method == "PATCH":
        entry.resource = _parse_patch(entry, transaction)
    return entry


def _make_relative(url: str, base: str) -> str:
    """Return a URL relative to this server."""
    return url.removeprefix(base).removeprefix("/")


def _parse_headers(request: dict[str, Any], location: str) -> dict[str, str]:
    headers = {header: request[name] for name, header in _HEADERS.items() if name in request}
    if not all(isinstance(value, str) for value in headers.values()):
        raise refusal(400, "value", "a precondition is text", f"{location}.request")
    return headers


def _parse_patch(entry: BundleEntry, transaction: Transaction) -> Any:
    """Read a JSON Patch, which stands in a Binary."""
    binary = entry.resource
    if (
        not isinstance(binary, dict)
        or binary.get("resourceType") != "Binary"
        or binary.get("contentType") != JSON_PATCH
    ):
        location = f"{entry.location}.resource"
        raise refusal(
            415, "not-supported", f"a patch in a Bundle is a Binary with the contentType {JSON_PATCH}", location
        )
    try:
        body = base64.b64decode(str(binary.get("data", "")), validate=True)
    except ValueError:  # letters beyond ASCII are no binascii.Error
        raise refusal(400, "value", "`data` is base64", f"{entry.location}.resource.data") from None
    return parse_json(transaction.address.rewrite_json(body), transaction.settings.max_depth)


@contextmanager
def locate_refusals(transaction: Transaction, entry: BundleEntry) -> Iterator[None]:
    """Place refusals at an entry of the Bundle."""
    transaction.issue_location = f"{entry.location}.resource"
    try:
        yield
    except Refusal as error:
        issues = (
            issue if issue.expression else issue._replace(expression=entry.location) for issue in to_issues(error)
        )
        raise FhirRefusal(error.status, *issues) from None
    finally:
        transaction.issue_location = ""
