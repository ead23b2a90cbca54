"""The Python client of a FHIR sandbox."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from clerkship.formats.fhir.exact import dumps
from clerkship.formats.fhir.resource import Resource, parse_resource
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.request import QueryParams, Reply
from clerkship.simulators.fhir.outcome import FHIR_JSON, JSON_PATCH

SearchArguments = Mapping[str, Any] | Sequence[tuple[str, Any]]
"""Search parameters. A parameter with a list of values is repeated, so that all of them must match."""


class Fhir(Handle):
    """Read, search and write resources as plain dicts. Raises Refused when the server refuses a request."""

    def read(self, type: str, id: str) -> Resource:
        """Return the current version of a resource."""
        return parse_resource(self.request("GET", f"/{type}/{id}").body)

    def vread(self, type: str, id: str, version: str) -> Resource:
        """Return a given version of a resource."""
        return parse_resource(self.request("GET", f"/{type}/{id}/_history/{version}").body)

    def search(self, type: str, params: SearchArguments | None = None, **more: Any) -> list[Resource]:
        """Return all matches of a search, from all pages, without included resources.

        Write `name__exact=` for the parameter `name:exact`.
        """
        bundle = self.bundle(type, params, **more)
        entries = (entry for page in self._pages(bundle) for entry in page.get("entry", ()))
        return [entry["resource"] for entry in entries if entry.get("search", {}).get("mode") == "match"]

    def bundle(self, type: str, params: SearchArguments | None = None, **more: Any) -> Resource:
        """Return the first page of a search as a Bundle, with matches, included resources and links."""
        query = QueryParams(tuple(_build_query(params, more)))
        return parse_resource(self.request("GET", f"/{type}" if type else "/", query=query).body)

    def next_page(self, bundle: Resource) -> Resource | None:
        """Return the page after this one; None if it is the last."""
        for link in bundle.get("link", ()):
            if link["relation"] == "next":
                return parse_resource(self._follow_link(link["url"]).body)
        return None

    def create(self, resource: Resource, if_none_exist: str | None = None) -> Resource:
        """Create a resource, and return it as the server stored it, with its id."""
        headers = {} if if_none_exist is None else {"if-none-exist": if_none_exist}
        return self._write("POST", f"/{resource['resourceType']}", resource, headers)

    def update(self, resource: Resource, if_match: str | None = None) -> Resource:
        """Replace a resource, and return it as the server stored it.

        With `if_match`, the server refuses unless that is the current version.
        """
        return self._write("PUT", f"/{resource['resourceType']}/{resource['id']}", resource, _if_match_header(if_match))

    def patch(
        self, type: str, id: str, operations: Sequence[Mapping[str, Any]], if_match: str | None = None
    ) -> Resource:
        """Apply a JSON Patch to a resource, and return it as the server stored it."""
        body = dumps(list(operations))
        return parse_resource(
            self.request("PATCH", f"/{type}/{id}", headers=_if_match_header(if_match), body=body, media=JSON_PATCH).body
        )

    def delete(self, type: str, id: str, if_match: str | None = None) -> None:
        """Delete a resource."""
        self.request("DELETE", f"/{type}/{id}", headers=_if_match_header(if_match))

    def history(self, type: str, id: str) -> list[Resource]:
        """Return the history entries of a resource, newest first. The entry of a deletion has no `resource`."""
        bundle = parse_resource(self.request("GET", f"/{type}/{id}/_history").body)
        return [entry for page in self._pages(bundle) for entry in page.get("entry", ())]

    def transaction(self, bundle: Resource) -> Resource:
        """Send a batch or transaction Bundle, and return the response Bundle."""
        return self._write("POST", "/", bundle, {})

    def everything(self, patient_id: str) -> list[Resource]:
        """Return all resources about a patient."""
        bundle = parse_resource(self.request("GET", f"/Patient/{patient_id}/$everything").body)
        return [entry["resource"] for page in self._pages(bundle) for entry in page.get("entry", ())]

    def validate(self, resource: Resource) -> list[dict[str, Any]]:
        """Return the issues of severity error or fatal in a resource; an empty list if the server would accept it."""
        outcome = self._write("POST", f"/{resource['resourceType']}/$validate", resource, {})
        return [issue for issue in outcome["issue"] if issue["severity"] in ("error", "fatal")]

    def capabilities(self) -> Resource:
        """Return the CapabilityStatement."""
        return parse_resource(self.request("GET", "/metadata").body)

    def _write(self, method: str, path: str, resource: Resource, headers: Mapping[str, str]) -> Resource:
        return parse_resource(self.request(method, path, headers=headers, body=dumps(resource), media=FHIR_JSON).body)

    def _pages(self, bundle: Resource) -> Iterator[Resource]:
        page: Resource | None = bundle
        while page is not None:
            yield page
            page = self.next_page(page)

    def _follow_link(self, url: str) -> Reply:
        parts = urlsplit(url)
        query = QueryParams(tuple(parse_qsl(parts.query, keep_blank_values=True)))
        return self.request("GET", unquote(parts.path) or "/", query=query)


def _build_query(params: SearchArguments | None, more: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    arguments = list(params.items() if isinstance(params, Mapping) else params or ())
    for name, value in [*arguments, *((name.replace("__", ":"), value) for name, value in more.items())]:
        for item in value if isinstance(value, list | tuple) else (value,):
            yield name, str(item).lower() if isinstance(item, bool) else str(item)


def _if_match_header(version: str | None) -> dict[str, str]:
    if version is None:
        return {}
    return {"if-match": version if version.startswith(("W/", '"', "*")) else f'W/"{version}"'}
