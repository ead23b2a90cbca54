"""`file_present`: the expected file exists at the end, with the expected content."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.assertions.narrowing import narrow
from clerkship.assertions.occurrence import join_first
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.names import find_similar_name
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import FieldMatch, compare_value
from clerkship.simulators.files.assertions.file_content import read_content
from clerkship.simulators.files.content import (
    Content,
    ContentFormat,
    CsvContent,
    UnreadableContent,
    check_content_path,
    check_encoding,
    decode_text,
    parse_file,
)
from clerkship.simulators.files.paths import check_path as check_glob
from clerkship.simulators.files.state import FilesState

_FORMAT_BY_EXTENSION: dict[str, ContentFormat] = {"csv": "csv", "hl7": "hl7"}
"""Format by extension; other files are JSON."""
_CONTENT = "content"
_MAX_REASONS = 3
_MAX_COMPARED_NAMES = 2000


class FilePresent(SelectionAssertion):
    """A file exists at the path with the expected text, or the expected fields as JSON, CSV or HL7; or the number of
    such files is as expected. `input_entity_id` selects files whose path or text is about that record.
    """

    name: ClassVar[str] = "file_present"
    aliases: ClassVar[tuple[str, ...]] = ("sftp_file_present",)
    simulator: ClassVar[str | None] = "files"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "path"
    path: Annotated[
        str,
        AfterValidator(check_glob),
        Field(
            min_length=1,
            description="path in the drop; `*` matches any characters, slashes too, and `?` any single one",
        ),
    ]
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None
    parse: Annotated[
        ContentFormat | None,
        Field(
            description="the required format; by default, if `fields` or `row` are given: CSV for `row` and a path "
            "that ends in .csv, HL7 for .hl7, else JSON"
        ),
    ] = None
    text: Annotated[Expected | None, Field(description="expected text: literal or matcher")] = None
    fields: Annotated[
        tuple[FieldMatch, ...],
        Field(
            description="expected values by path: `lines[0].code` in JSON, `rows[0].mrn`, `[*].mrn`, `columns` and "
            "`rows` (their number) in CSV, `PID.5.1` in HL7; in CSV and HL7 a number also matches its text"
        ),
    ] = ()
    valid: Annotated[
        Flag,
        Field(description="whether an HL7 file must be valid by the standard; false if it only has to be readable"),
    ] = True
    row: Annotated[
        dict[str, Expected],
        Field(description="expected values by column; at least one row of the CSV file must have all of them"),
    ] = {}
    encoding: Annotated[
        str | None,
        AfterValidator(check_encoding),
        Field(description="its text encoding; by default UTF-8, or UTF-16 with a byte order mark"),
    ] = None
    modified: Annotated[Expected | None, Field(description="expected modification time: literal or matcher")] = None
    complete: Annotated[Flag | None, Field(description="false for an interrupted upload, true for a complete one")] = (
        None
    )
    absent: Annotated[Flag, Field(description="the same as `none`")] = False

    @property
    def format(self) -> ContentFormat | None:
        """The format that the file is parsed as; None if it is not parsed."""
        if self.parse is not None or not (self.fields or self.row):
            return self.parse
        return "csv" if self.row else _FORMAT_BY_EXTENSION.get(self.path.rpartition(".")[2].lower(), "json")

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.row and self.format != "csv":
            raise ValueError("`row` goes with `parse: csv`")
        for field in self.fields:
            check_content_path(self.format or "json", field.path)
        if self.count is not None and self.absent:
            raise ValueError("`count` and `absent` do not go together")
        return self

    @property
    def is_none(self) -> bool:
        return self.none or self.absent

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each file at the path."""
        state = evidence.state(FilesState, self.sandbox)
        paths = narrow(
            evidence,
            (path for path in state.volume.paths() if fnmatchcase(path, self.path)),
            lambda path: read_content(path, state.records[path]),
            forbids=self.passes_on_inaction,
        )
        return (Compared(path, tuple(self._compare(state, path))) for path in paths)

    def describe_selection(self, evidence: Evidence) -> str:
        return f"file that matches {self.path}"

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield which files there are, if none is selected."""
        if not compared:
            paths = list(evidence.state(FilesState, self.sandbox).volume.paths())
            near = find_similar_name(self.path, paths[:_MAX_COMPARED_NAMES])
            nearest = f" (nearest is {near})" if near else ""
            yield f"there is {join_first(paths, most=MAX_NAMES) or 'no file'}{nearest}"

    def _compare(self, state: FilesState, path: str) -> Iterator[FieldCheck]:
        data: bytes = state.records[path]
        if self.modified is not None:
            yield compare_value("modified", self.modified, state.volume.modified(path).isoformat())
        if self.complete is not None:
            yield compare_value("complete", self.complete, state.volume.info(path).complete)
        if self.text is not None:
            yield compare_value("text", self.text, decode_text(data, self.encoding, "replace"))
        if self.format is not None:
            yield from self._compare_parsed(self.format, data)

    def _compare_parsed(self, format: ContentFormat, data: bytes) -> Iterator[FieldCheck]:
        try:
            results = [list(self._compare_content(content)) for content in parse_file(format, data, self.encoding)]
        except UnreadableContent as error:
            yield FieldCheck(path=_CONTENT, expected=format, actual=str(error), passed=False)
            for field in self.fields:
                yield FieldCheck(path=field.path, expected=field.expected, actual=repr(MISSING), passed=False)
            return
        if not self.fields and not self.row and not any(results):
            yield FieldCheck(path=_CONTENT, expected=format, actual=format, passed=True)
        elif results:
            yield from max(results, key=lambda rows: sum(row.passed for row in rows))

    def _compare_content(self, content: Content) -> Iterator[FieldCheck]:
        if self.valid and (flaws := content.flaws()):
            reasons = "; ".join(flaws[:_MAX_REASONS])
            yield FieldCheck(path=_CONTENT, expected="valid by the standard", actual=reasons, passed=False)
        for field in self.fields:
            yield content.compare(field.path, field.expected)
        if self.row and isinstance(content, CsvContent):
            yield from content.compare_nearest_row(self.row)
