"""Parse the entries of a batch or transaction into requests (R4 http: batch/transaction)."""

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
    """A bundle entry: a request for an interaction."""

    number: int
    method: str
    path: str
    pairs: QueryPairs
    headers: Mapping[str, str] = field(default_factory=dict)
    full_url: str = ""
    resource: Any = None
    key: str = ""
    """The key of the resource that the entry changes, once it is known."""
    interaction: Interaction[Any] | None = None
    """Set by BundleProcessor, like `input`."""
    input: Any = None

    @property
    def location(self) -> str:
        """The FHIRPath of the entry, such as `Bundle.entry[3]`."""
        return f"Bundle.entry[{self.number}]"


def parse_bundle(data: Any, max_entries: int) -> tuple[str, list[Any]]:
    """Return the type and the entries of a Bundle."""
    if not isinstance(data, dict) or data.get("resourceType") != "Bundle":
        raise refusal(400, "structure", "expected a Bundle of type batch or transaction")
    type, entries = data.get("type"), data.get("entry", [])
    if type not in ("batch", "transaction"):
        raise refusal(400, "value", "the Bundle must be of type batch or transaction", "Bundle.type")
    if not isinstance(entries, list):
        raise refusal(400, "structure", "`entry` must be an array", "Bundle.entry")
    if len(entries) > max_entries:
        raise refusal(413, "too-costly", f"a Bundle may have at most {max_entries} entries, not {len(entries)}")
    if sum(map(_is_conditional, entries)) > MAX_CONDITIONS:
        raise refusal(413, "too-costly", f"a Bundle may have at most {MAX_CONDITIONS} conditional entries")
    return type, entries


def _is_conditional(entry: Any) -> bool:
    """Return whether an entry is a conditional write.

    These are limited, since each of them searches all resources, including those that earlier entries wrote.
    """
    request = entry.get("request") if isinstance(entry, dict) else None
    if not isinstance(request, dict) or request.get("method") in ("GET", "HEAD"):
        return False
    return "ifNoneExist" in request or "?" in str(request.get("url"))


def parse_entry(number: int, data: Any, transaction: Transaction) -> BundleEntry:
    """Parse an entry into a request."""
    location = f"Bundle.entry[{number}]"
    request = data.get("request") if isinstance(data, dict) else None
    if not isinstance(request, dict):
        raise refusal(400, "required", "an entry must have a `request` with `method` and `url`", location)
    method, url, full_url = request.get("method"), request.get("url"), data.get("fullUrl", "")
    if method not in METHODS:
        raise refusal(400, "value", f"`method` must be one of {', '.join(METHODS)}", f"{location}.request.method")
    if not isinstance(url, str) or not isinstance(full_url, str):
        raise refusal(400, "value", "`url` and `fullUrl` must be text", f"{location}.request.url")
    path, _, query = _make_relative(url, transaction.base).partition("?")
    pairs = transaction.address.rewrite_pairs(parse_qsl(query, keep_blank_values=True))
    entry = BundleEntry(
        number, method, f"/{unquote(path)}", pairs, _parse_headers(request, location), full_url, data.get("resource")
    )
    if method in ("POST", "PUT", "PATCH") and entry.resource is None:
        raise refusal(400, "required", f"an entry with method {method} must have a `resource`", f"{location}.resource")
    if method == "PATCH":
        entry.resource = _parse_patch(entry, transaction)
    return entry


def _make_relative(url: str, base: str) -> str:
    return url.removeprefix(base).removeprefix("/")


def _parse_headers(request: dict[str, Any], location: str) -> dict[str, str]:
    headers = {header: request[name] for name, header in _HEADERS.items() if name in request}
    if not all(isinstance(value, str) for value in headers.values()):
        raise refusal(400, "value", "a precondition must be text", f"{location}.request")
    return headers


def _parse_patch(entry: BundleEntry, transaction: Transaction) -> Any:
    """Parse a JSON Patch, which a Bundle carries in a Binary."""
    binary = entry.resource
    if (
        not isinstance(binary, dict)
        or binary.get("resourceType") != "Binary"
        or binary.get("contentType") != JSON_PATCH
    ):
        location = f"{entry.location}.resource"
        raise refusal(
            415, "not-supported", f"a patch in a Bundle must be a Binary with contentType {JSON_PATCH}", location
        )
    try:
        body = base64.b64decode(str(binary.get("data", "")), validate=True)
    except ValueError:  # b64decode raises a plain ValueError for characters beyond ASCII
        raise refusal(400, "value", "`data` must be base64", f"{entry.location}.resource.data") from None
    return parse_json(transaction.address.rewrite_json(body), transaction.settings.max_depth)


@contextmanager
def locate_refusals(transaction: Transaction, entry: BundleEntry) -> Iterator[None]:
    """Add the location of an entry to refusals raised in the block."""
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
