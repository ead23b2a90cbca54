"""`file_present`: the right file is there at the end, with the right content."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from clerkship.assertions.contract import Assertion, Check, FieldMatch, compare_value
from clerkship.assertions.field_rows import MAX_NAMES, Rows
from clerkship.assertions.occurrence import CountExpectation, allows_zero, join_first
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.names import find_nearest_name
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.simulators.files.content import Content, Form, Table, Unfit, check_encoding, check_path, decode, read
from clerkship.simulators.files.paths import check_path as check_glob
from clerkship.simulators.files.state import FilesState

_BY_NAME: dict[str, Form] = {"csv": "csv", "hl7": "hl7"}
"""What a file is whose name says it; others are JSON."""
_CONTENT = "content"
_MAX_REASONS = 3
_MAX_SHOWN = 80
_MAX_NEAR = 2000


class FilePresent(Assertion):
    """A file at the path whose text, and whose fields as JSON, CSV or HL7, are as expected; or so many, or none."""

    name: ClassVar[str] = "file_present"
    aliases: ClassVar[tuple[str, ...]] = ("sftp_file_present",)
    simulator: ClassVar[str | None] = "files"
    shorthand: ClassVar[str | None] = "path"
    path: Annotated[
        str,
        AfterValidator(check_glob),
        Field(min_length=1, description="path in the drop; `*` is any run of signs, slashes too, `?` any one"),
    ]
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None
    parse: Annotated[
        Form | None,
        Field(
            description="what it must be; if not said, where `fields` or `row` are given: CSV for `row` and by a name "
            "that ends in .csv, HL7 in .hl7, else JSON"
        ),
    ] = None
    text: Annotated[Expected | None, Field(description="what its text must be: literal or matcher")] = None
    fields: Annotated[
        tuple[FieldMatch, ...],
        Field(
            description="what it must hold, by path: `lines[0].code` in JSON, `rows[0].mrn`, `[*].mrn`, `columns` and "
            "`rows` (how many) in CSV, `PID.5.1` in HL7; a number fits text that says it, in CSV and HL7"
        ),
    ] = ()
    valid: Annotated[
        Flag, Field(description="an HL7 file must also be sound by the standard; false for any that can be read")
    ] = True
    row: Annotated[
        dict[str, Expected], Field(description="some row of a CSV file must have all of this, by column")
    ] = {}
    encoding: Annotated[
        str | None,
        AfterValidator(check_encoding),
        Field(description="how its text is written; UTF-8, or UTF-16 with a mark, if not given"),
    ] = None
    modified: Annotated[Expected | None, Field(description="when it was last modified: literal or matcher")] = None
    complete: Annotated[
        Flag | None, Field(description="false for an upload that broke off, true for one that did not")
    ] = None
    count: Annotated[CountExpectation | None, Field(description="how many files must match")] = None
    absent: Annotated[Flag, Field(description="no such file may be there")] = False
    none: Annotated[Flag, Field(description="the same as `absent`")] = False

    @property
    def form(self) -> Form | None:
        """What it is read as, if it is."""
        if self.parse is not None or not (self.fields or self.row):
            return self.parse
        return "csv" if self.row else _BY_NAME.get(self.path.rpartition(".")[2].lower(), "json")

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.row and self.form != "csv":
            raise ValueError("`row` is for `parse: csv`")
        for field in self.fields:
            check_path(self.form or "json", field.path)
        if self.count is not None and (self.absent or self.none):
            raise ValueError(f"`count` and `{'none' if self.none else 'absent'}` do not go together")
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return self.absent or self.none or allows_zero(self.count)

    def check(self, evidence: Evidence) -> Check:
        """Compare every file at the path; the best one decides."""
        state = evidence.state(FilesState, self.sandbox)
        looked_at = {
            path: tuple(self._compare(state, path)) for path in state.volume.paths() if fnmatchcase(path, self.path)
        }
        good = [path for path, rows in looked_at.items() if all(row.passed for row in rows)]
        if self.absent or self.none or self.count is not None or not any(looked_at.values()):
            return self._check_count(good, looked_at, state)
        best = max(looked_at, key=lambda path: sum(row.passed for row in looked_at[path]))
        if best in good:
            return Check.of_fields(looked_at[best], f"{best} is as expected")
        of = f" (the nearest of {len(looked_at)})" if len(looked_at) > 1 else ""
        return Check.of_fields(looked_at[best], f"{best} is there{of}, but not as expected{_why(looked_at[best])}")

    def _check_count(self, good: Sequence[str], looked_at: dict[str, Rows], state: FilesState) -> Check:
        none = self.absent or self.none
        expected: Any = 0 if none else self.count if self.count is not None else {"gte": 1}
        passed = matches_expected(expected, len(good))
        row = FieldCheck(path=self.path, expected=expected, actual=len(good), passed=passed)
        found = join_first(good, most=MAX_NAMES) or self._instead(state)
        told = f"files that fit {self.path}: {found} (expected {describe_expected(expected)})"
        other = next((path for path in looked_at if path not in good), None)
        if passed or none or other is None:
            return Check.of(passed, told, row)
        return Check.of(passed, f"{told}; {other} is not as expected{_why(looked_at[other])}", row, *looked_at[other])

    def _instead(self, state: FilesState) -> str:
        """What there is, where there is nothing of the sort."""
        paths = list(state.volume.paths())
        near = find_nearest_name(self.path, paths[:_MAX_NEAR])
        there = join_first(paths, most=MAX_NAMES) or "no file at all"
        return f"none{f' (nearest is {near})' if near else ''}; there is {there}"

    def _compare(self, state: FilesState, path: str) -> Iterator[FieldCheck]:
        data: bytes = state.records[path]
        if self.modified is not None:
            yield compare_value("modified", self.modified, state.volume.modified(path).isoformat())
        if self.complete is not None:
            yield compare_value("complete", self.complete, state.volume.info(path).complete)
        if self.text is not None:
            yield compare_value("text", self.text, decode(data, self.encoding, "replace"))
        if self.form is not None:
            yield from self._look_into(self.form, data)

    def _look_into(self, form: Form, data: bytes) -> Iterator[FieldCheck]:
        try:
            found = [list(self._compare_content(content)) for content in read(form, data, self.encoding)]
        except Unfit as unfit:
            yield FieldCheck(path=_CONTENT, expected=form, actual=f"it is {unfit}", passed=False)
            for field in self.fields:
                yield FieldCheck(path=field.path, expected=field.expected, actual=repr(MISSING), passed=False)
            return
        if not self.fields and not self.row and not any(found):
            yield FieldCheck(path=_CONTENT, expected=form, actual=form, passed=True)
        elif found:
            yield from max(found, key=lambda rows: sum(row.passed for row in rows))

    def _compare_content(self, content: Content) -> Iterator[FieldCheck]:
        if self.valid and (flaws := content.flaws()):
            found = "; ".join(flaws[:_MAX_REASONS])
            yield FieldCheck(path=_CONTENT, expected="sound by the standard", actual=found, passed=False)
        for field in self.fields:
            yield content.compare(field.path, field.expected)
        if self.row and isinstance(content, Table):
            yield from content.nearest_row(self.row)


def _why(rows: Rows) -> str:
    """The closing words of a failure: what it is not, or what differs."""
    unfit = next((row for row in rows if row.path == _CONTENT and not row.passed), None)
    if unfit is not None:
        return f" ({unfit.actual})"
    wrong = [row for row in rows if not row.passed]
    told = [
        f"{row.path} is {_short(row.actual)}, expected {describe_expected(row.expected)}"
        for row in wrong[:_MAX_REASONS]
    ]
    more = f" and {len(wrong) - _MAX_REASONS} more" if len(wrong) > _MAX_REASONS else ""
    return f": {'; '.join(told)}{more}" if told else ""


def _short(value: Any) -> str:
    text = value if value == repr(MISSING) else describe_expected(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
