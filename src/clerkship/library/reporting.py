"""Report mistakes and warnings in files, each at its place."""

from dataclasses import dataclass, field

from clerkship.library.source import Report
from clerkship.library.yaml import Path, Tree
from clerkship.model.problem import Problem


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


def _note(report: Report, tree: Tree, path: Path, message: str, hint: str, **how: bool) -> None:
    def find() -> Problem:
        return problem_at(tree, path, message, hint, key=how.get("key", False))

    report.add(tree.file, find, spoils=how.get("spoils", False))


def problem_at(tree: Tree, path: Path, message: str, hint: str = "", *, key: bool = False) -> Problem:
    """Return a problem with the place of a path; of the key instead of the value, with `key`."""
    spot = tree.locate(path, key=key)
    place = {"file": spot.file, "line": spot.line, "column": spot.column}
    return Problem(**place, key=dotted(spot.keys), message=message, hint=hint)


def dotted(keys: Path) -> str:
    """Return a path as messages show it."""
    text = ".".join(map(str, keys))
    return text if len(text) <= 200 else f"{text[:199]}…"
