"""Compile documents into the lines of a dataset: resolve references, shift dates, add meta, validate, sort."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from clerkship.formats.fhir.date_shift import shift_dates
from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.issue import FhirError, Issue
from clerkship.formats.fhir.resource import Resource, parse_key, render_resource
from clerkship.formats.fhir.validation import split_lenient, validate
from clerkship.model.errors import InputProblem
from clerkship.simulators.fhir.datasets.entries import DatasetEntry, EntryReader
from clerkship.simulators.fhir.datasets.reference_resolver import ReferenceResolver
from clerkship.suite_files.document import Document, JsonPath

DEFAULT_LAST_UPDATED = "2000-01-01T00:00:00.000Z"
"""`meta.lastUpdated` of resources without one, in a dataset without `as_of`."""
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_REFERENCE = re.compile(rb'"reference":"([A-Z][A-Za-z]+)/([A-Za-z0-9\-.]{1,64})(?:/_history/[^"\\]*)?"')
_MAX_SHOWN = 3


@dataclass(frozen=True)
class CompileOptions:
    """How a dataset is compiled."""

    validation: Literal["strict", "lenient"] = "strict"
    days: int = 0
    """By how many days dates are shifted."""
    updated: str = DEFAULT_LAST_UPDATED
    """`meta.lastUpdated` of resources without one."""


@dataclass
class CompileResult:
    """The lines of a dataset. They must not be used if there are problems."""

    lines: tuple[bytes, ...] = ()
    problems: list[InputProblem] = field(default_factory=list)
    warnings: list[InputProblem] = field(default_factory=list)


class InvalidDatasetResource(Exception):
    """A resource has errors, so it is left out."""


def compile_dataset(
    documents: Iterable[Document], options: CompileOptions, generated: Sequence[bytes] = ()
) -> CompileResult:
    """Compile documents and report all problems. `generated` are lines that need no compilation."""
    return _Compiler(options).run(documents, generated)


class _Compiler:
    """The state of one compilation."""

    def __init__(self, options: CompileOptions) -> None:
        self._options = options
        self._result = CompileResult()
        self._lines: dict[str, bytes] = {}
        self._entries_by_key: dict[str, DatasetEntry] = {}

    def run(self, documents: Iterable[Document], generated: Sequence[bytes]) -> CompileResult:
        reader = EntryReader(self._result.problems.append)
        resolver = ReferenceResolver(entry for document in documents for entry in self._read(reader, document))
        for entry in resolver.entries:
            try:
                self._add_entry(resolver, entry)
            except InvalidDatasetResource:
                continue
            except RecursionError:
                self._result.problems.append(entry.problem((), f"{entry.key} is nested too deeply"))
        for line in generated:
            self._lines.setdefault(parse_key(line), line)
        self._result.lines = tuple(line for _, line in sorted(self._lines.items(), key=lambda item: item[0].split("/")))
        if not self._result.problems:
            self._result.warnings += _find_dangling_references(self._result.lines, self._entries_by_key)
        return self._result

    def _read(self, reader: EntryReader, document: Document) -> Iterator[DatasetEntry]:
        if document.is_lines and document.is_blank:
            self._result.warnings.append(document.problem(1, (), "the file is empty", "expected one resource per line"))
        return reader.read(document)

    def _add_entry(self, resolver: ReferenceResolver, entry: DatasetEntry) -> None:
        resource, messages = resolver.resolve_entry(entry)
        for message in messages:
            reported = self._result.problems if self._options.validation == "strict" else self._result.warnings
            reported.append(entry.problem((), f"{entry.key}: {message}", _hint_for_synthea(message)))
        resource = self._add_meta(resource)
        self._check(entry, resource)
        if self._options.days:
            try:
                resource = shift_dates(resource, self._options.days)
            except FhirError as invalid:
                self._result.problems += [self._to_problem(entry, issue) for issue in invalid.issues]
                return
        line = render_resource(resource)
        first = self._lines.setdefault(entry.key, line)
        if first is line:
            self._entries_by_key[entry.key] = entry
        elif first != line:
            hint = f"the other is at {self._entries_by_key[entry.key].location()}"
            self._result.problems.append(
                entry.problem(("id",), f"two different resources have the key {entry.key}", hint)
            )

    def _add_meta(self, resource: Resource) -> Resource:
        """Add a version and the time of the last update where they are missing (R4 §2.1.0.2)."""
        meta = resource.get("meta", {})
        if not isinstance(meta, dict):
            return resource
        return {**resource, "meta": {"versionId": "1", "lastUpdated": self._options.updated, **meta}}

    def _check(self, entry: DatasetEntry, resource: Resource) -> None:
        issues = validate(resource)
        if not issues:
            return
        errors = [issue for issue in issues if issue.severity in ("fatal", "error")]
        warnings = [issue for issue in issues if issue.severity not in ("fatal", "error")]
        if self._options.validation == "lenient":
            refused, accepted = split_lenient(errors)
            errors, warnings = list(refused), [*warnings, *accepted]
        self._result.problems += [self._to_problem(entry, issue) for issue in errors]
        self._result.warnings += [self._to_problem(entry, issue) for issue in warnings]
        if errors:
            raise InvalidDatasetResource

    def _to_problem(self, entry: DatasetEntry, issue: Issue) -> InputProblem:
        message = issue.text.removeprefix(f"{issue.expression}: ")  # the problem has the location
        return entry.problem(_parse_expression(issue.expression), f"{entry.key}: {message}")


def _hint_for_synthea(message: str) -> str:
    """Return a hint for references that Synthea resolves with separate files."""
    if "none in this dataset" not in message or not message.startswith(
        ("`Practitioner?", "`Organization?", "`Location?")
    ):
        return ""
    return (
        "Synthea writes these resources to hospitalInformation….json and practitionerInformation….json: add those files"
    )


def _parse_expression(expression: str) -> JsonPath:
    """Return the path of an expression such as `Patient.name[0].family`, without the type."""
    parts = [int(number) if number else name for name, number in _STEP.findall(expression)]
    return tuple(parts[1:] if parts and parts[0] in RESOURCE_TYPES else parts)


def _find_dangling_references(lines: Sequence[bytes], entries: dict[str, DatasetEntry]) -> list[InputProblem]:
    """Return a warning for each type of missing resource. It is no error: another dataset may have the resources."""
    known = {key.encode() for key in map(parse_key, lines)}
    missing: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for line in lines:
        for match in _REFERENCE.finditer(line):
            if b"%b/%b" % match.groups() not in known:
                type, id = match[1].decode(), match[2].decode()
                missing[type].append((parse_key(line), f"{type}/{id}"))
    return [_build_dangling_warning(type, pairs, entries) for type, pairs in sorted(missing.items())]


def _build_dangling_warning(type: str, pairs: list[tuple[str, str]], entries: dict[str, DatasetEntry]) -> InputProblem:
    shown = ", ".join(f"{source} to {target}" for source, target in pairs[:_MAX_SHOWN])
    more = ", …" if len(pairs) > _MAX_SHOWN else ""
    count = f"{len(pairs):,} reference{'s' * (len(pairs) != 1)}"
    first = entries.get(pairs[0][0])
    message = f"{count} to {type} resources that are not in the dataset: {shown}{more}"
    return first.problem((), message) if first is not None else InputProblem(message=message)


def build_options(as_of: datetime | None, now: datetime) -> CompileOptions:
    """Return options that shift dates from `as_of` to `now`, by whole days in the zone of `as_of`."""
    if as_of is None:
        return CompileOptions()
    days = (now.astimezone(as_of.tzinfo).date() - as_of.date()).days
    start_of_day = as_of.replace(
        hour=0, minute=0, second=0, microsecond=0
    )  # so that it is not after `now` when shifted
    return CompileOptions(
        days=days, updated=start_of_day.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )
