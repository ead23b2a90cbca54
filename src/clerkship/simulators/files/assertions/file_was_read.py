"""`file_was_read`: the agent read a file."""

from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.assertions.narrowing import narrow
from clerkship.assertions.occurrence import CountExpectation, allows_zero, describe_times, join_first
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.files.assertions.file_content import read_content_at
from clerkship.simulators.files.config import FILE
from clerkship.simulators.files.events import FileRead
from clerkship.simulators.files.paths import check_path as check_glob


class FileWasRead(Assertion):
    """The agent read a file at the path, at any time and over any protocol; or the number of reads is as expected.
    `input_entity_id` selects files whose path or text was then about that record.
    """

    name: ClassVar[str] = "file_was_read"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "path"
    path: Annotated[
        str,
        AfterValidator(check_glob),
        FILE,
        Field(
            min_length=1,
            description="path in the drop; `*` matches any characters, slashes too, and `?` any single one",
        ),
    ]
    sandbox: Annotated[str | None, Field(description="which drop; any if not given")] = None
    count: Annotated[CountExpectation | None, Field(description="how often; by default at least once")] = None
    none: Annotated[Flag, Field(description="the file must not have been read")] = False

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.none and self.count is not None:
            raise ValueError("`count` and `none` do not go together")
        return self

    def check(self, evidence: Evidence) -> Check:
        """Find the reads in the log."""
        events = [
            (event, event.payload.path)
            for event in evidence.events
            if isinstance(event.payload, FileRead) and event.actor == "agent" and self.sandbox in (None, event.source)
        ]
        reads = [(event.seq, path) for event, path in events]
        about = narrow(
            evidence,
            ((event, path) for event, path in events if fnmatchcase(path, self.path)),
            lambda read: read_content_at(evidence, read[0].source, read[1], read[0].seq),
            forbids=self.none or allows_zero(self.count),
        )
        hits = [(event.seq, path) for event, path in about]
        if self.none or self.count is not None:
            return self._check_count(hits)
        if hits:
            seq, path = hits[0]
            field = FieldCheck(path="read", expected=self.path, actual=path, passed=True, seq=seq)
            return Check.of(True, f"the agent read {path}", field)
        names = sorted({path for _, path in reads})
        detail = f"the agent read {join_first(names, most=MAX_NAMES)}" if names else "the agent read no file"
        field = FieldCheck(path="read", expected=self.path, actual=names[:MAX_NAMES], passed=False)
        return Check.of(False, detail, field)

    def _check_count(self, hits: list[tuple[int, str]]) -> Check:
        expected: Any = 0 if self.none else self.count
        passed = matches_expected(expected, len(hits))
        names = list(dict.fromkeys(path for _, path in hits))
        listing = join_first(names, most=MAX_NAMES) if names else self.path
        row = FieldCheck(
            path="read", expected=expected, actual=len(hits), passed=passed, seq=hits[0][0] if hits else None
        )
        return Check.of(
            passed,
            f"the agent read {listing} {describe_times(len(hits))} (expected {describe_expected(expected)})",
            row,
        )
