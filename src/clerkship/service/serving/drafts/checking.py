"""Check a draft as `clerkship validate` does, without its variables and programs; say what is wrong by field."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.agent_domain import AgentCapabilities
from clerkship.model.conftest import Conftest
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.task import Task
from clerkship.model.variables import TrackedVariables, expand_task
from clerkship.service.checking import check_domains, load_domain
from clerkship.service.serving.drafts.objects import FoundObject, Place, find_objects
from clerkship.settings import Settings
from clerkship.suite_files.calibration import find_calibration_file, load_calibrations
from clerkship.suite_files.definition import Definition, as_map, read_as
from clerkship.suite_files.definitions import FolderDefinitions
from clerkship.suite_files.load import load_library
from clerkship.suite_files.source import Reporter, SourceFolder
from clerkship.suite_files.yaml import format_key_path

MAX_GENERATED_PATIENTS = 1_000
"""Of one dataset: each takes milliseconds and kilobytes of the server."""


class _UnexpandedVariables(Mapping[str, str]):
    """A mapping in which every variable stands for its own reference, so that nothing is expanded."""

    def __getitem__(self, name: str) -> str:
        return f"${{{name}}}"

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class DraftCatalog(RegisteredCatalog):
    """The catalog of a server, but no file of a draft learns a variable of the server."""

    def __init__(self, catalog: RegisteredCatalog) -> None:
        vars(self).update(vars(catalog))

    def variables(self) -> Mapping[str, str]:
        """Return variables that stand for themselves."""
        return _UnexpandedVariables()


@dataclass(frozen=True)
class CheckedDraft:
    """A draft without mistakes."""

    objects: list[FoundObject]
    warnings: tuple[InputProblem, ...]


def check_draft(root: Path, slug: str, settings: Settings, catalog: DraftCatalog) -> CheckedDraft:
    """Load the files of a draft. Raise InputError with every problem; the paths in it are relative to the folder."""
    with relative_problems(root):
        definitions = _read_definitions(root, catalog)
        refused = [problem for each in definitions for problem in _refuse(each)]
        if refused:
            raise InputError(refused)
        agent = AgentCapabilities(engine="", domain=load_domain(root))
        library = load_library(root, catalog, needs_task=False, capabilities=agent, cache=settings.cache)
        calibration = find_calibration_file(root)
        if calibration is not None:  # a run with a judge reads it
            load_calibrations(calibration)
        problems = list(check_domains(library, catalog))
        if problems:
            raise InputError(problems)
    return CheckedDraft(find_objects(definitions, root, slug), tuple(_make_relative(library.warnings, root)))


@contextmanager
def relative_problems(root: Path) -> Iterator[None]:
    """Let the problems of an InputError name files by their paths in a folder."""
    try:
        yield
    except InputError as error:
        raise InputError(_make_relative(error.problems, root), warnings=_make_relative(error.warnings, root)) from None


def _read_definitions(root: Path, catalog: RegisteredCatalog) -> list[Definition]:
    folder = SourceFolder(root)
    return FolderDefinitions(folder, Reporter(folder.report), catalog.built_in_datasets()).read()


def _refuse(definition: Definition) -> Iterator[InputProblem]:
    """Yield what a server does not take although a run on the author's machine would."""
    if definition.kind == "conftest":
        conftest = read_as(Conftest, definition.data)
        for path in conftest.prompts() if conftest is not None else ():
            message = "a server takes no prompt templates, because they are programs"
            yield definition.locate(*path).problem(message, "remove it; the built-in prompt is used then")
    elif definition.kind == "dataset":
        patients = as_map(definition.fields.get("generate")).get("patients")
        if isinstance(patients, int) and patients > MAX_GENERATED_PATIENTS:
            message = f"a server generates at most {MAX_GENERATED_PATIENTS:,} patients, not {patients:,}"
            yield definition.locate("generate", "patients").problem(message, "generate them elsewhere, and push them")


def _make_relative(problems: Iterable[InputProblem], root: Path) -> list[InputProblem]:
    """Return problems that name files by their paths in the folder."""
    parts = [f"{root}/", f"{root.resolve()}/"]

    def strip(text: str) -> str:
        for part in parts:
            text = text.replace(part, "")
        return "" if text in (str(root), str(root.resolve())) else text

    return [
        replace(each, file=strip(each.file), message=strip(each.message), hint=strip(each.hint)) for each in problems
    ]


def to_field_problems(error: InputError, place: Place) -> InputError:
    """Return an error whose problems name the fields of the object at a place; others keep their file and line."""
    return InputError([_to_field_problem(problem, place) for problem in error.problems], warnings=error.warnings)


def _to_field_problem(problem: InputProblem, place: Place) -> InputProblem:
    prefix = format_key_path(place.path)
    if problem.file != place.file or not (problem.key == prefix or problem.key.startswith(f"{prefix}.")):
        return problem
    field = problem.key[len(prefix) + 1 :]
    return replace(problem, file="", line=0, column=0, key=field)


def require_no_variables(tasks: Iterable[Task]) -> None:
    """Raise InputError if a task has `${NAME}`: a server expands no variables."""
    for task in tasks:
        used = TrackedVariables(_UnexpandedVariables())
        expand_task(task.model_dump(mode="json"), used, lambda path, unknown: None)
        if used.used:
            names = ", ".join(f"${{{name}}}" for name in sorted(used.used))
            hint = "write the text itself; a server has none of the variables of its authors"
            raise InputError.of(f"task {task.name!r} has variables: {names}", hint=hint)
