"""Validate a folder: everything that can be known before a run."""

from dataclasses import dataclass
from pathlib import Path

from clerkship.engine.catalog import Registered
from clerkship.library.library import Library
from clerkship.library.load import load
from clerkship.model.problem import InputError, Problem


@dataclass(frozen=True)
class Validation:
    """What a folder holds, or all that is wrong with it."""

    library: Library | None
    problems: tuple[Problem, ...]

    def exit_code(self) -> int:
        """The author's mistakes are neither a pass nor a fail."""
        return 2 if self.problems else 0


def validate(path: Path, catalog: Registered) -> Validation:
    """Load it and see."""
    try:
        return Validation(load(path, catalog), ())
    except InputError as error:
        return Validation(None, error.problems)
