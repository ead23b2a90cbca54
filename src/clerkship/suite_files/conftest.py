"""Find and read `conftest.yml`, and check the prompt templates that it refers to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from clerkship.llm.prompts import BadPrompt, Prompt
from clerkship.model.conftest import Conftest
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import did_you_mean
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.source import (
    EVALUATION_FOLDER,
    SUFFIXES,
    Reporter,
    SourceFolder,
    Unreadable,
    find_evaluation_folders,
    read_text,
)

CONFTEST_STEM = "conftest"
CONFTEST_BLOCKS = frozenset({"simulation", "evaluation", "person"})


def is_conftest(path: Path, data: Any) -> bool:
    """Return whether a file is a conftest of scenarios. Other tests have files of this name too."""
    return path.stem == CONFTEST_STEM and isinstance(data, dict) and bool(CONFTEST_BLOCKS & data.keys())


def find_conftest_above(root: Path) -> Path | None:
    """Return the conftest for a folder of scenarios: `eval/conftest.yml` for `eval/scenarios` and folders below it."""
    return _find_first(find_evaluation_folders(root))


def find_conftest_near(file: Path) -> Path | None:
    """Return the conftest for a file that is not a scenario: beside it, in `eval` above it, or in `eval` beside it."""
    folder = file.resolve().parent
    return _find_first([folder, *find_evaluation_folders(folder), folder / EVALUATION_FOLDER])


def _find_first(folders: Iterable[Path]) -> Path | None:
    places = (place / f"{CONFTEST_STEM}{suffix}" for place in folders for suffix in SUFFIXES)
    return next((path for path in places if path.is_file() and is_conftest(path, _read_data(path))), None)


def _read_data(path: Path) -> Any:
    tree = SourceFolder(path.parent).read(path)
    return tree.data if tree is not None else {"evaluation": None}  # its mistakes are reported when it is read


def read_template(conftest: Path, name: str) -> tuple[Path, str]:
    """Return the path and the text of a template. Its name is relative to the project's root.

    Raise Unreadable if it is outside the project, missing or empty.
    """
    folder = conftest.resolve().parent
    project = folder.parent if folder.name == EVALUATION_FOLDER else folder
    path = project / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(project):
        raise Unreadable("it is outside the project", f"paths are relative to {project.name}/ and must stay in it")
    if not path.exists():
        raise Unreadable("there is no such file", f"paths are relative to {project.name}/")
    text = read_text(path)
    if not text.strip():
        raise Unreadable("the file is empty")
    return path, text


def check_template(key: str, path: Path, text: str) -> InputProblem | None:
    """Fill a template with sample values, as a run would; return the problem with it, or None."""
    check = PROMPT_CHECKS[key]
    try:
        filled = [check.prompt(text).fill(**values) for values in check.sample_values()]
    except BadPrompt as bad:
        hint = f"available variables: {', '.join(check.variables)}" if "is undefined" in bad.said else ""
        return InputProblem(file=str(path), line=bad.line, column=1 if bad.line else 0, message=bad.said, hint=hint)
    unknown_block = Prompt(check.name, text).find_unknown_block()
    if unknown_block:
        name, known = unknown_block
        hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
        return InputProblem(file=str(path), message=f"the template that it extends has no block `{name}`", hint=hint)
    unused = [
        names for names in check.needed if not any(_SAMPLE_TEXT.format(name) in "".join(filled[0]) for name in names)
    ]
    if unused:
        names = " or ".join(f"`{name}`" for name in unused[0])
        return InputProblem(
            file=str(path), message=f"the template does not use {names}", hint=f"add {{{{ {unused[0][0]} }}}}"
        )
    return None


class _PromptCheck(NamedTuple):
    """What is needed to check a custom prompt template."""

    name: str
    """Name of the built-in prompt that it replaces."""
    needed: tuple[tuple[str, ...], ...]
    """Required variables; each item lists alternatives, of which one is enough."""
    optional: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables that the template can use."""
        return (*(name for names in self.needed for name in names), *self.optional)

    def prompt(self, text: str) -> Prompt:
        return Prompt(self.name, text)

    def sample_values(self) -> Iterator[dict[str, Any]]:
        """Yield sample values: once with a value for each variable, once with the optional ones empty."""
        full: dict[str, Any] = {name: _SAMPLES.get(name, _SAMPLE_TEXT.format(name)) for name in self.variables}
        yield full
        yield full | {name: type(full[name])() for name in self.optional}


_SAMPLE_TEXT = "(the {})"
_SAMPLES: dict[str, Any] = {
    "metrics": [{"name": "politeness", "description": "It is polite.", "scale": "1-5"}],
    "broken": [{"said": "(what was said)", "reason": "(a rule)"}],
    "min_turns": 2,
    "may_invent": True,
    "approached": True,
    "first": True,
}
"""Sample values of variables that are not text."""
PROMPT_CHECKS = {
    "criteria_judge_prompt": _PromptCheck(
        "criterion",
        (("criteria_text", "criterion"), ("transcript",)),
        ("event_ledger", "simulation_context", "engine_version", "observers"),
    ),
    "metrics_judge_prompt": _PromptCheck(
        "metrics",
        (("transcript",),),
        ("event_ledger", "simulation_context", "engine_version", "observers", "metrics"),
    ),
    "simulated_user_prompt": _PromptCheck(
        "person",
        (("simulation_context",),),
        (
            *("name", "persona", "knows", "language", "min_turns", "may_invent", "approached"),
            *("agent", "first", "hint", "broken"),
        ),
    ),
}
"""By the key of the template in a conftest."""


@dataclass
class ConftestReader:
    """Reads the conftest of a folder: the models of an evaluation, and its own prompts."""

    folder: SourceFolder
    reporter: Reporter
    conftest: Conftest | None = None
    prompts: dict[str, str] = field(default_factory=dict)
    """Texts of custom prompts, by the name of the prompt that each replaces."""

    def load(self, definitions: Iterable[Definition]) -> None:
        """Read the conftest in the folder, or the one of the `eval` folder above it."""
        conftests = [definition for definition in definitions if definition.kind == CONFTEST_STEM] or self._read_above()
        for definition in conftests[1:]:
            hint = f"the other is {conftests[0].tree.file}"
            definition.problem([], "a run can have only one conftest", hint)
        for definition in conftests[:1]:
            self.read(definition)

    def read(self, definition: Definition) -> None:
        """Read a conftest and the prompts that it refers to."""
        self.conftest = definition.read(Conftest, definition.data)
        for place, name in (self.conftest.prompts() if self.conftest is not None else {}).items():
            self._read_prompt(definition, place, name)

    def _read_above(self) -> list[Definition]:
        path = find_conftest_above(self.folder.root)
        tree = self.folder.open_other(path.parent).read(path) if path is not None else None
        is_one = path is not None and tree is not None and is_conftest(path, tree.data)
        return [Definition(CONFTEST_STEM, tree, [], tree.data, self.reporter)] if tree is not None and is_one else []

    def _read_prompt(self, definition: Definition, place: tuple[str, str], name: str) -> None:
        """Read and check a custom prompt. Its text is stored with the run."""
        try:
            path, text = read_template(Path(definition.tree.file), name)
        except Unreadable as unreadable:
            definition.problem(place, f"{name}: {unreadable.message}", unreadable.hint)
            return
        self.folder.included.add(self.folder.resolve(path))
        problem = check_template(place[1], path, text)
        if problem is not None:
            self.reporter.mistakes.add_problem(problem)
        self.prompts[PROMPT_CHECKS[place[1]].name] = text


def load_conftest(path: Path) -> tuple[Conftest, dict[str, str]]:
    """Read a single conftest with its prompts. Raise InputError with every mistake."""
    folder = SourceFolder(path.parent)
    reader = ConftestReader(folder, Reporter(folder.report))
    tree = folder.read(path)
    if tree is not None:
        reader.read(Definition(CONFTEST_STEM, tree, [], tree.data, reader.reporter))
    if reader.conftest is None or folder.report.problems:
        raise InputError(folder.report.sorted())
    return reader.conftest, reader.prompts
