"""The errors of the package, and the problems in input files that they report.

ClerkshipError ├── InputError        a mistake of the author: raised before the run, with every problem found └──
PlatformError     a failure of Clerkship or the machine: the trial is errored, never failed
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class InputProblem:
    """One mistake at one place in the input."""

    file: str = ""
    line: int = 0
    column: int = 0
    key: str = ""
    message: str
    hint: str = ""

    def location(self) -> str:
        """Return the location in the form that terminals make clickable: `tasks/refill.yml:12:5`."""
        if not self.file:
            return ""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def __str__(self) -> str:
        """Return one line: location, key, message, hint."""
        head = ": ".join(part for part in (self.location(), self.key) if part)
        body = f"{self.message}; {self.hint}" if self.hint else self.message
        return f"{head}: {body}" if head else body


class ClerkshipError(Exception):
    """Base class of the errors that this package raises on purpose."""


class InputError(ClerkshipError):
    """Mistakes in the input, all of them at once."""

    def __init__(
        self,
        problems: Iterable[InputProblem],
        skipped_files: Mapping[str, str] | None = None,
        warnings: Iterable[InputProblem] = (),
    ) -> None:
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)
        """Warnings about skipped files, which may be what the mistakes come from."""
        self.skipped_files = dict(skipped_files or {})
        """Files of the same folder that were skipped, each with the reason."""
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def of(cls, message: str, *, file: str = "", hint: str = "") -> Self:
        """Return an error with a single problem that has no line."""
        return cls([InputProblem(file=file, message=message, hint=hint)])


class PlatformError(ClerkshipError):
    """A failure that neither the agent nor the author caused; the trial is errored."""


class MissingExtra(PlatformError):
    """A package that a simulator needs is not installed. The message names the command that installs it."""
