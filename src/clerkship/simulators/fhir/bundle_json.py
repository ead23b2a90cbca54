"""Bundles put together from resources in their byte form: what is stored is not read again to be shown."""

from collections.abc import Iterable, Sequence
from urllib.parse import quote

import orjson

from clerkship.simulators.fhir.state import ResourceVersion

BundleLinks = Sequence[tuple[str, str]]
"""Relation and URL."""
SAFE_CHARACTERS = "$:/|,=<>!*()'@"
"""Of what may stand in a query (RFC 3986 §3.4), all that searches are full of: links can be read."""


def build_url(base: str, path: str, pairs: Iterable[tuple[str, str]] = ()) -> str:
    """An absolute address on this server."""
    query = render_query(pairs)
    return f"{base}{quote(path, safe=SAFE_CHARACTERS)}{'?' if query else ''}{query}"


def render_query(pairs: Iterable[tuple[str, str]]) -> str:
    """What stands behind the `?`."""
    safe = SAFE_CHARACTERS.replace("=", "")
    return "&".join(f"{quote(name, safe=safe)}={quote(value, safe=SAFE_CHARACTERS)}" for name, value in pairs)


def render_bundle(type: str, links: BundleLinks, entries: Iterable[bytes], total: int | None = None) -> bytes:
    """A Bundle of entries that are ready."""
    head = [b'{"resourceType":"Bundle","type":', orjson.dumps(type)]
    if total is not None:
        head.append(b',"total":%d' % total)
    if links:
        head += [b',"link":', orjson.dumps([{"relation": relation, "url": url} for relation, url in links])]
    joined = b",".join(entries)
    return b"".join([*head, b',"entry":[', joined, b"]}"]) if joined else b"".join([*head, b"}"])


def render_match(base: str, key: str, data: bytes, mode: str = "match") -> bytes:
    """An entry of a searchset."""
    return b'{"fullUrl":%s,"resource":%s,"search":{"mode":"%s"}}' % (_render_text(f"{base}/{key}"), data, mode.encode())


def render_search_outcome(data: bytes) -> bytes:
    """An OperationOutcome about the search itself (R4 search: search outcome)."""
    return b'{"resource":%s,"search":{"mode":"outcome"}}' % data


def render_history_entry(base: str, key: str, version: ResourceVersion, is_creation: bool) -> bytes:
    """An entry of a history: what was asked, what was answered, and what it was then (R4 http: history)."""
    type = key.partition("/")[0]
    request = {"method": version.method, "url": type if version.method == "POST" else key}
    response = {"status": "204" if version.is_deleted else "201" if is_creation else "200", "etag": version.etag}
    if version.updated:
        response["lastModified"] = version.updated
    resource = b"" if version.data is None else b'"resource":%s,' % version.data
    template = b'{"fullUrl":%s,%s"request":%s,"response":%s}'
    return template % (_render_text(f"{base}/{key}"), resource, orjson.dumps(request), orjson.dumps(response))


def render_response_entry(fields: dict[str, str], full_url: str = "", data: bytes = b"", outcome: bytes = b"") -> bytes:
    """An entry of the response to a batch or a transaction."""
    response = orjson.dumps(fields)
    if outcome:
        response = b'%s,"outcome":%s}' % (response[:-1], outcome)
    url = b'"fullUrl":%s,' % _render_text(full_url) if full_url else b""
    resource = b'"resource":%s,' % data if data else b""
    return b'{%s%s"response":%s}' % (url, resource, response)


def _render_text(value: str) -> bytes:
    return orjson.dumps(value)
