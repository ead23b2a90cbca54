"""Collect mistakes and warnings in files, each with its place."""

from collections.abc import Callable
from dataclasses import dataclass, field

from clerkship.model.errors import InputProblem
from clerkship.suite_files.yaml import KeyPath, YamlTree

MAX_PROBLEMS = 100
FileLocation = tuple[str, int, int]


@dataclass
class ProblemReport:
    """The problems in a folder, each once. Problems at a silenced place are dropped."""

    problems: dict[InputProblem, None] = field(default_factory=dict)
    silenced: set[FileLocation] = field(default_factory=set)
    calls: int = 0
    """How often a problem was added, including duplicates."""
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, file: str, build: Callable[[], InputProblem], *, silences: bool = False) -> None:
        """Add a problem, unless its file has too many already. `build` is only called if the problem is needed."""
        self.calls += 1
        count = self._counts.get(file, 0)
        if count >= MAX_PROBLEMS:
            self._counts[file] = count + 1
            return
        problem = build()
        location = (problem.file, problem.line, problem.column)
        if location not in self.silenced and problem not in self.problems:
            self.problems[problem] = None
            self._counts[file] = count + 1
        if silences:
            self.silenced.add(location)

    def note(
        self, tree: YamlTree, path: KeyPath, message: str, hint: str = "", *, key: bool = False, silences: bool = False
    ) -> None:
        """Add a problem at a path, or at its key with `key`. With `silences`, drop further problems there."""
        self.add(tree.file, lambda: tree.locate(path, key=key).problem(message, hint), silences=silences)

    def add_problem(self, problem: InputProblem, *, silences: bool = False) -> None:
        """Add a problem that already has a place."""
        self.add(problem.file, lambda: problem, silences=silences)

    def sorted(self) -> list[InputProblem]:
        """Return all problems in the order of their places."""
        truncated = [
            InputProblem(file=file, message=f"and {count - MAX_PROBLEMS:,} more problems")
            for file, count in self._counts.items()
            if count > MAX_PROBLEMS
        ]
        return [*sorted(self.problems, key=lambda p: (p.file, p.line, p.column)), *truncated]


@dataclass
class Reporter:
    """The mistakes and the warnings of one folder."""

    mistakes: ProblemReport
    warnings: ProblemReport = field(init=False)

    def __post_init__(self) -> None:
        self.warnings = ProblemReport(silenced=self.mistakes.silenced)
