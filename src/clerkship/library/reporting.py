"""Report what is wrong, and what may be wrong, in the pieces of files: each at its place."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from clerkship.library.complaint import complain, dotted
from clerkship.library.note import Path
from clerkship.library.piece import Piece
from clerkship.library.source import Report
from clerkship.library.yaml import Tree
from clerkship.model.problem import Problem

M = TypeVar("M", bound=BaseModel)


@dataclass
class Reporter:
    """The mistakes and the warnings of one folder."""

    mistakes: Report
    warnings: Report = field(init=False)

    def __post_init__(self) -> None:
        self.warnings = Report(spoiled=self.mistakes.spoiled)

    def problem(self, tree: Tree, path: Path, message: str, hint: str = "", **how: bool) -> None:
        """Report a mistake at a path; with `spoils`, nothing else is reported of that place."""
        _note(self.mistakes, tree, path, message, hint, **how)

    def warning(self, tree: Tree, path: Path, message: str, hint: str = "", **how: bool) -> None:
        """Report a warning at a path."""
        _note(self.warnings, tree, path, message, hint, **how)

    def add_problem(self, problem: Problem) -> None:
        """Report a mistake that has its place."""
        self.mistakes.add(problem.file, lambda: problem)

    def add_warning(self, problem: Problem) -> None:
        """Report a warning that has its place."""
        self.warnings.add(problem.file, lambda: problem)

    def model(self, piece: Piece, model: type[M], data: Any) -> M | None:
        """Read a piece's data as a model; report every mistake and return None where it does not fit."""
        try:
            return model.model_validate(data)
        except ValidationError as error:
            self.invalid(piece, error, model, piece.path)
            return None

    def invalid(self, piece: Piece, error: ValidationError, model: type[BaseModel], path: Path) -> None:
        """Report every mistake that a model found below a path."""
        for find in complain(error, model, piece.tree, path):
            self.mistakes.add(piece.tree.file, find)


def _note(report: Report, tree: Tree, path: Path, message: str, hint: str, **how: bool) -> None:
    def find() -> Problem:
        spot = tree.locate(path, key=how.get("key", False))
        place = {"file": spot.file, "line": spot.line, "column": spot.column}
        return Problem(**place, key=dotted(spot.keys), message=message, hint=hint)

    report.add(tree.file, find, spoils=how.get("spoils", False))
