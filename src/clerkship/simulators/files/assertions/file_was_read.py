"""`file_was_read`: the agent read a file."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from clerkship.assertions.field_rows import MAX_NAMES
from clerkship.assertions.narrowing import narrow
from clerkship.assertions.occurrence import join_first
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck
from clerkship.simulators.files.assertions.file_content import read_content_at
from clerkship.simulators.files.config import FILE
from clerkship.simulators.files.events import FileRead
from clerkship.simulators.files.paths import check_path as check_glob


class FileWasRead(SelectionAssertion):
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

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each read of such a file."""
        about = narrow(
            evidence,
            ((event, path) for event, path in self._list_reads(evidence) if fnmatchcase(path, self.path)),
            lambda read: read_content_at(evidence, read[0].source, read[1], read[0].seq),
            forbids=self.passes_on_inaction,
        )
        for event, path in about:
            row = FieldCheck(path="read", expected=self.path, actual=path, passed=True, seq=event.seq)
            yield Compared(f"read of {path} (#{event.seq})", (row,))

    def _list_reads(self, evidence: Evidence) -> list[tuple[Event, str]]:
        return [
            (event, event.payload.path)
            for event in evidence.events
            if isinstance(event.payload, FileRead) and event.actor == "agent" and self.sandbox in (None, event.source)
        ]

    def describe_selection(self, evidence: Evidence) -> str:
        return f"read of {self.path}"

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield what the agent read."""
        names = sorted({path for _, path in self._list_reads(evidence)})
        yield f"the agent read {join_first(names, most=MAX_NAMES) or 'no file'}"
