"""Render Bundles from the bytes of their resources.

Stored resources are not parsed again, which keeps large pages fast.
"""

from collections.abc import Iterable, Sequence
from urllib.parse import quote

import orjson

from clerkship.simulators.fhir.state import ResourceVersion

BundleLinks = Sequence[tuple[str, str]]
"""Pairs of relation and URL."""
SAFE_CHARACTERS = "$:/|,=<>!*()'@"
"""Characters of searches that are valid in a query unescaped (RFC 3986 §3.4); it keeps links readable."""


def build_url(base: str, path: str, pairs: Iterable[tuple[str, str]] = ()) -> str:
    """Return an absolute URL on this server."""
    query = render_query(pairs)
    return f"{base}{quote(path, safe=SAFE_CHARACTERS)}{'?' if query else ''}{query}"


def render_query(pairs: Iterable[tuple[str, str]]) -> str:
    """Render a query string."""
    safe = SAFE_CHARACTERS.replace("=", "")
    return "&".join(f"{quote(name, safe=safe)}={quote(value, safe=SAFE_CHARACTERS)}" for name, value in pairs)


def render_bundle(type: str, links: BundleLinks, entries: Iterable[bytes], total: int | None = None) -> bytes:
    """Render a Bundle from rendered entries."""
    head = [b'{"resourceType":"Bundle","type":', orjson.dumps(type)]
    if total is not None:
        head.append(b',"total":%d' % total)
    if links:
        head += [b',"link":', orjson.dumps([{"relation": relation, "url": url} for relation, url in links])]
    joined = b",".join(entries)
    return b"".join([*head, b',"entry":[', joined, b"]}"]) if joined else b"".join([*head, b"}"])


def render_match(base: str, key: str, data: bytes, mode: str = "match") -> bytes:
    """Render an entry of a searchset."""
    return b'{"fullUrl":%s,"resource":%s,"search":{"mode":"%s"}}' % (_render_text(f"{base}/{key}"), data, mode.encode())


def render_search_outcome(data: bytes) -> bytes:
    """Render the entry with the OperationOutcome of a search (R4 search: search outcome)."""
    return b'{"resource":%s,"search":{"mode":"outcome"}}' % data


def render_history_entry(base: str, key: str, version: ResourceVersion, is_creation: bool) -> bytes:
    """Render an entry of a history: the request, the response and the resource (R4 http: history)."""
    type = key.partition("/")[0]
    request = {"method": version.method, "url": type if version.method == "POST" else key}
    response = {"status": "204" if version.is_deleted else "201" if is_creation else "200", "etag": version.etag}
    if version.updated:
        response["lastModified"] = version.updated
    resource = b"" if version.data is None else b'"resource":%s,' % version.data
    template = b'{"fullUrl":%s,%s"request":%s,"response":%s}'
    return template % (_render_text(f"{base}/{key}"), resource, orjson.dumps(request), orjson.dumps(response))


def render_response_entry(fields: dict[str, str], full_url: str = "", data: bytes = b"", outcome: bytes = b"") -> bytes:
    """Render an entry of the response to a batch or transaction."""
    response = orjson.dumps(fields)
    if outcome:
        response = b'%s,"outcome":%s}' % (response[:-1], outcome)
    url = b'"fullUrl":%s,' % _render_text(full_url) if full_url else b""
    resource = b'"resource":%s,' % data if data else b""
    return b'{%s%s"response":%s}' % (url, resource, response)


def _render_text(value: str) -> bytes:
    return orjson.dumps(value)
