"""Read resources from documents: single resources, one per line, or in Bundles."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import orjson

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.resource import ID_PATTERN, Resource
from clerkship.model.errors import InputProblem
from clerkship.model.names import did_you_mean
from clerkship.suite_files.document import Document, JsonPath

ReportProblem = Callable[[InputProblem], None]
_PUT_URL = re.compile(r"([A-Z][A-Za-z]+)/([A-Za-z0-9\-.]{1,64})")
_UNSUPPORTED_BUNDLE_TYPES = ("history", "transaction-response", "batch-response")


@dataclass(slots=True)
class DatasetEntry:
    """One resource, its location, and what its Bundle says about it."""

    document: Document
    line: int
    path: JsonPath
    resource: Resource
    scope: int
    """The number of the Bundle. References are resolved within the same Bundle first."""
    url: str = ""
    """The fullUrl."""
    condition: str = ""
    """The condition of a conditional create, such as `identifier=…` (R4 §3.1.0.8.1)."""
    id: str = ""

    @property
    def key(self) -> str:
        return f"{self.resource['resourceType']}/{self.id}"

    def problem(self, path: JsonPath, message: str, hint: str = "") -> InputProblem:
        """Return a problem at a path in the resource."""
        return self.document.problem(self.line, (*self.path, *path), message, hint)

    def location(self) -> str:
        """Describe the location of the resource for a message about another one."""
        problem = self.problem((), "")
        return f"{problem.location()}" + (f" ({problem.key})" if problem.key else "")


class EntryReader:
    """Reads documents into entries. Problems are reported, and the rest is read."""

    def __init__(self, report: ReportProblem) -> None:
        self._report = report
        self._scopes = count(1)

    def read(self, document: Document) -> Iterator[DatasetEntry]:
        for line, text in document.texts():
            if line <= 1 and (text.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in text[:1000]):
                self._report(document.problem(0, (), "the file is not UTF-8 text", "save it as UTF-8"))
                return
            yield from self._read_text(document, text, line)

    def _read_text(self, document: Document, data: bytes, line: int) -> Iterator[DatasetEntry]:
        try:
            content = exact.loads(data)
        except orjson.JSONDecodeError as error:
            self._report(_build_json_problem(document, line, error))
        except (ValueError, RecursionError) as error:
            self._report(document.problem(line, (), f"not valid JSON: {error}"))
        else:
            yield from self._read_document(document, line, content)

    def _read_document(self, document: Document, line: int, data: Any) -> Iterator[DatasetEntry]:
        if isinstance(data, dict) and data.get("resourceType") == "Bundle":
            yield from self._read_bundle(document, line, data)
        elif isinstance(data, list):
            hint = "put each resource on its own line of an .ndjson file, or all into a Bundle"
            self._report(document.problem(line, (), "expected a resource, not a list", hint))
        elif self._is_resource(document, line, (), data):
            yield from self._assign_id(DatasetEntry(document, line, (), data, next(self._scopes)), None)

    def _read_bundle(self, document: Document, line: int, bundle: Resource) -> Iterator[DatasetEntry]:
        entries, scope = bundle.get("entry", []), next(self._scopes)
        if bundle.get("type") in _UNSUPPORTED_BUNDLE_TYPES:
            message = f"a Bundle of type {bundle['type']} cannot be a dataset"
            self._report(
                document.problem(line, ("type",), message, "export a collection, a searchset or a transaction")
            )
        elif not isinstance(entries, list):
            self._report(document.problem(line, ("entry",), "expected a list of entries"))
        else:
            for number, item in enumerate(entries):
                yield from self._read_bundle_entry(document, line, number, item, scope)

    def _read_bundle_entry(
        self, document: Document, line: int, number: int, item: Any, scope: int
    ) -> Iterator[DatasetEntry]:
        path: JsonPath = ("entry", number)
        if not isinstance(item, dict):
            self._report(document.problem(line, path, "expected an entry with a `resource`"))
            return
        search, request = item.get("search"), item.get("request")
        if isinstance(search, dict) and search.get("mode") == "outcome":
            return  # the OperationOutcome of a search
        method = request.get("method") if isinstance(request, dict) else None
        if method not in (None, "PUT", "POST"):
            message = f"an entry with method {str(method)[:20]} cannot be in a dataset"
            self._report(document.problem(line, (*path, "request"), message, "only PUT and POST are supported"))
        elif self._is_resource(document, line, (*path, "resource"), item.get("resource")):
            url = item.get("fullUrl")
            entry = DatasetEntry(
                document, line, (*path, "resource"), item["resource"], scope, url if isinstance(url, str) else ""
            )
            yield from self._assign_id(entry, request if isinstance(request, dict) else None)

    def _assign_id(self, entry: DatasetEntry, request: dict[str, Any] | None) -> Iterator[DatasetEntry]:
        """Yield the entry with its id, if it has one. Entries without an id get one when all entries are known."""
        if _is_too_deep(entry.resource):
            self._report(entry.problem((), "the resource is nested too deeply"))
            return
        condition, target = ((request or {}).get(name) for name in ("ifNoneExist", "url"))
        entry.condition = condition if isinstance(condition, str) else ""
        given_id = entry.resource.get("id")
        if given_id is not None and not (isinstance(given_id, str) and ID_PATTERN.fullmatch(given_id)):
            message = f"{str(given_id)[:80]!r} is not an id"
            self._report(entry.problem(("id",), message, "an id has 1 to 64 characters: letters, digits, - and ."))
            return
        put_target = _PUT_URL.fullmatch(target) if isinstance(target, str) else None
        urn = entry.url.rpartition(":")[2] if entry.url.startswith(("urn:uuid:", "urn:oid:")) else ""
        last_segment = entry.url.rpartition("/")[2] if entry.url.startswith(("http://", "https://")) else ""
        entry.id = given_id or (put_target[2] if put_target is not None else "") or urn or last_segment
        entry.id = entry.id if ID_PATTERN.fullmatch(entry.id) else ""
        yield entry

    def _is_resource(self, document: Document, line: int, path: JsonPath, data: Any) -> bool:
        if not isinstance(data, dict):
            self._report(document.problem(line, path, "expected a resource, a map with `resourceType`"))
            return False
        type = data.get("resourceType")
        if isinstance(type, str) and type in RESOURCE_TYPES:
            return True
        message = "`resourceType` is missing" if type is None else f"unknown resource type {str(type)[:60]!r}"
        hint = did_you_mean(type, RESOURCE_TYPES) if isinstance(type, str) and len(type) < 60 else ""
        self._report(document.problem(line, (*path, "resourceType"), message, hint))
        return False


def _is_too_deep(resource: Resource) -> bool:
    """Return whether a resource is nested too deep to be rendered, which no valid resource is."""
    try:
        exact.dumps(resource)
    except (TypeError, RecursionError):
        return True
    return False


def _build_json_problem(document: Document, line: int, error: orjson.JSONDecodeError) -> InputProblem:
    message = error.msg.partition(":")[0].strip() or "unexpected end"  # without the position, which the problem has
    problem = document.problem(line or error.lineno, (), f"not valid JSON: {message}")
    return replace(problem, column=error.colno)
