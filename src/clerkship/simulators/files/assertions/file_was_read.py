"""`file_was_read`: the agent looked at a file."""

from fnmatch import fnmatchcase
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.contract import Assertion, Check
from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck
from clerkship.simulators.files.events import FileRead


class FileWasRead(Assertion):
    """The agent read a file at the path (`*` allowed), at any time."""

    name: ClassVar[str] = "file_was_read"
    shorthand: ClassVar[str | None] = "path"
    path: Annotated[str, Field(min_length=1, description="path in the drop, `*` allowed")]
    sandbox: Annotated[str | None, Field(description="which drop; any if not given")] = None

    def check(self, evidence: Evidence) -> Check:
        """Look for the read in the log."""
        reads = [
            (event.seq, event.payload.path)
            for event in evidence.events
            if isinstance(event.payload, FileRead) and event.actor == "agent" and self.sandbox in (None, event.source)
        ]
        hit = next(((seq, path) for seq, path in reads if fnmatchcase(path, self.path)), None)
        if hit is not None:
            field = FieldCheck(path="read", expected=self.path, actual=hit[1], passed=True, seq=hit[0])
            return Check.of(True, f"the agent read {hit[1]}", field)
        actual = sorted({path for _, path in reads})
        more = f" and {len(actual) - 10} more" if len(actual) > 10 else ""
        actual = actual[:10]
        said = f"the agent read {', '.join(actual)}{more}" if actual else "the agent read no file"
        return Check.of(False, said, FieldCheck(path="read", expected=self.path, actual=actual, passed=False))
