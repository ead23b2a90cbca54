"""Which Subscriptions a server accepts, and which resources they are about (R4 subscription): rest-hooks alone."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from clerkship.formats.fhir.chart import ChartView
from clerkship.formats.fhir.issue import FhirError, IssueCode
from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.search import matches_search, parse_query
from clerkship.formats.fhir.search.parse import RESULT_PARAMETERS
from clerkship.sandbox.request import Refusal
from clerkship.simulators.fhir.events import ResourceWritten, SubscriptionTriggered
from clerkship.simulators.fhir.inputs import QueryPairs, parse_query_pairs
from clerkship.simulators.fhir.outcome import FHIR_JSON, FhirRefusal, refusal
from clerkship.simulators.fhir.state import CLIENT_OPERATIONS, SUBSCRIPTION, parse_instant

LINK = "subscription"
"""The name under which endpoints are registered: `subscription/42` for that of Subscription/42."""
NEW_SUBSCRIPTION = "new"
"""The id under which an endpoint is registered to check it, before the Subscription is stored."""
MAX_SUBSCRIPTIONS = 100
"""Active Subscriptions of a server. Each write is compared with all of them, which costs other users' agents time."""
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e]*)")
_RESERVED_HEADERS = frozenset({"connection", "content-length", "content-type", "host", "transfer-encoding"})


def accept_subscription(resource: Resource, active: Collection[str], register: Callable[[str, str], None]) -> Resource:
    """Return a Subscription as it is stored: activated, unless the client turns it off. Refuse one that cannot work.

    `active` are the ids of the Subscriptions that are active.
    """
    status, channel = resource.get("status"), resource.get("channel")
    if not isinstance(channel, dict):  # a defect that a lenient server accepts
        raise _refuse("required", "a Subscription needs a channel", "channel")
    if channel.get("type") != "rest-hook":
        raise _refuse("not-supported", f"channels are rest-hook, not {_quote(channel.get('type'))}", "channel.type")
    if status == "off":
        return resource
    if status not in ("requested", "active"):
        raise _refuse("business-rule", f"a client sets `requested` or `off`, not {_quote(status)}", "status")
    if resource.get("id") not in active and len(active) >= MAX_SUBSCRIPTIONS:
        raise _refuse("too-costly", f"at most {MAX_SUBSCRIPTIONS} Subscriptions can be active")
    if channel.get("payload", FHIR_JSON) != FHIR_JSON:
        reason = f"the payload is {FHIR_JSON}, or none, not {_quote(channel['payload'])}"
        raise _refuse("not-supported", reason, "channel.payload")
    _check_criteria(resource)
    parse_headers(resource)
    _check_endpoint(channel.get("endpoint"), register)
    return {name: value for name, value in resource.items() if name != "error"} | {"status": "active"}


def _check_endpoint(endpoint: Any, register: Callable[[str, str], None]) -> None:
    if not isinstance(endpoint, str) or not endpoint.startswith(("http://", "https://")):
        raise _refuse("value", "a rest-hook needs an http or https URL", "channel.endpoint")
    try:
        register(f"{LINK}/{NEW_SUBSCRIPTION}", endpoint)
    except Refusal as refused:
        raise _refuse("forbidden", refused.reason, "channel.endpoint") from None


def _check_criteria(resource: Resource) -> None:
    type, pairs = _parse_criteria(resource)
    result = next((name for name, _ in pairs if name.partition(":")[0] in RESULT_PARAMETERS), "")
    if result:
        raise _refuse("not-supported", f"`{result}` is about results, and cannot be a criterion", "criteria")
    try:
        parse_query(type or "?", pairs)
    except FhirError as error:
        raise _refuse(error.issues[0].code, str(error), "criteria") from None


def _parse_criteria(resource: Resource) -> tuple[str, QueryPairs]:
    type, _, query = str(resource.get("criteria", "")).partition("?")
    return type, parse_query_pairs(query)


def parse_headers(resource: Resource) -> dict[str, str]:
    """Return the headers of a Subscription's channel, by name in lower case."""
    headers: dict[str, str] = {}
    lines = resource["channel"].get("header", ())
    for line in lines if isinstance(lines, list | tuple) else (lines,):
        match = _HEADER.fullmatch(str(line))
        if match is None or match[1].lower() in _RESERVED_HEADERS:
            reason = f"expected a header such as `Authorization: Bearer x`, not {_quote(line)}"
            raise _refuse("value", reason, "channel.header")
        headers[match[1].lower()] = match[2]
    return headers


def find_triggered(
    view: ChartView, active: Mapping[str, Resource], written: Iterable[ResourceWritten], now: datetime
) -> Iterator[SubscriptionTriggered]:
    """Yield which Subscriptions some writes trigger. A Subscription is over at its `end`."""
    for write in written:
        for id, subscription in active.items():
            type, pairs = _parse_criteria(subscription)
            end = parse_instant(str(subscription.get("end", "")))
            is_over = end is not None and end <= now
            if type == write.type and not is_over and matches_search(view, type, pairs, write.resource):
                yield SubscriptionTriggered(subscription=id, type=type, id=write.id, version=write.version)


def list_endpoints(written: Iterable[ResourceWritten]) -> Iterator[tuple[str, str]]:
    """Yield the name and URL to register for each Subscription that a client wrote; the URL of one that is off is
    empty."""
    for write in written:
        if write.type == SUBSCRIPTION and write.operation in CLIENT_OPERATIONS:
            is_active = write.resource["status"] == "active"
            yield f"{LINK}/{write.id}", write.resource["channel"]["endpoint"] if is_active else ""


def _quote(value: Any) -> str:
    return f"`{str(value)[:80]}`"


def _refuse(code: IssueCode, text: str, element: str = "") -> FhirRefusal:
    return refusal(422, code, text, f"{SUBSCRIPTION}.{element}" if element else SUBSCRIPTION)
