"""What is wrong with the input, said so that its author can mend it.

ClerkshipError
├── InputError        the author's: raised before the run, with every problem found
└── PlatformError     ours, or a machine's: the run is errored, never failed
"""

from collections.abc import Iterable
from typing import Self

from clerkship.model.frozen import Frozen


class InputProblem(Frozen):
    """One mistake in one place."""

    file: str = ""
    line: int = 0
    column: int = 0
    key: str = ""
    message: str
    hint: str = ""

    def place(self) -> str:
        """`tasks/refill.yml:12:5`, as an editor's terminal makes clickable."""
        if not self.file:
            return ""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def __str__(self) -> str:
        """One line: place, key, message, hint."""
        head = ": ".join(part for part in (self.place(), self.key) if part)
        body = f"{self.message}; {self.hint}" if self.hint else self.message
        return f"{head}: {body}" if head else body


class ClerkshipError(Exception):
    """Anything this package raises on purpose."""


class InputError(ClerkshipError):
    """The author's mistakes, all of them at once."""

    def __init__(self, problems: Iterable[InputProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def of(cls, message: str, *, file: str = "", hint: str = "") -> Self:
        """A single problem without a line."""
        return cls([InputProblem(file=file, message=message, hint=hint)])


class PlatformError(ClerkshipError):
    """Not the agent's doing and not the author's: the run is errored."""
