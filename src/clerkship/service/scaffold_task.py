"""Create a task in a folder, in its environment or with a new one, or create a scenario file."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

import orjson

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.environment import CONVERSATION_ENVIRONMENT
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean
from clerkship.service.scaffold import (
    Files,
    ProjectKind,
    fill_template,
    get_simulator_kind,
    render_environment,
    render_templates,
    write_files_with_schemas,
)
from clerkship.service.schemas import find_schema_folder
from clerkship.simulators.spec import TaskScaffold
from clerkship.suite_files.environment_check import build_environment_info
from clerkship.suite_files.source import SourceFolder
from clerkship.suite_files.yaml import parse_yaml
from clerkship.text.folding import to_file_stem

MAX_NAME_LENGTH = 200
WITHOUT_SANDBOX = TaskScaffold(
    task_item="instruction: Answer with the word in capitals.\nword: aspirin\n",
    criteria="""\
- label: The right answer
  # If a gate fails, the task fails, whatever the score.
  gate: true
  assertion:
    answer_matches: ASPIRIN
""",
    solution='return task_item["word"].upper()\n',
)
"""The scaffold for environments whose simulators have none."""


def create_task(
    name: str,
    folder: Path,
    catalog: RegisteredCatalog,
    environment: str | None = None,
    kind: ProjectKind | None = None,
) -> list[Path]:
    """Write a task that validates, passes with its solution, and fails with an agent that does nothing.

    With a kind, the task is about a sandbox of that kind, and an environment without one is an error.
    """
    if kind == "chat":
        scenarios = shlex.quote(str(folder / "scenarios"))
        raise InputError.of(
            "a conversation is a scenario, not a task",
            hint=f"use clerkship new scenario {shlex.quote(name)} --in {scenarios}",
        )
    stem = _to_file_stem(name)
    environments = {str(data.get("name")): data for data in _find_definitions(folder, "environment")}
    if name in [data.get("name") for data in _find_definitions(folder, "task")]:
        raise InputError.of(f"{folder} already has a task {name!r}", hint="choose another name")
    files: Files = {}
    if not environments and environment is None:
        files.update(render_environment(folder, kind))
        path = folder / "environment.yml"
        own = parse_yaml(files[path], path.name).data["environment"]
        environments = {own["name"]: own}
    if kind is not None:
        environments = _select_environments(environments, environment, kind, folder)
    chosen = _choose_environment(environments, environment, folder)
    sandboxes = build_environment_info(environments[chosen]).sandboxes
    wanted = sandboxes if kind is None else _select_sandboxes(sandboxes, kind)
    sandbox, scaffold = _find_scaffold(wanted, catalog)
    values = {
        "name": _quote(name),
        "shell_name": shlex.quote(name),
        "folder": shlex.quote(str(folder)),
        "environment": _quote(chosen),
        "sandboxes": ", ".join(f"{sandbox} ({kind})" for sandbox, kind in sandboxes.items()) or "none",
        "solution": f"../solutions/{stem}.py",
        **_fill_scaffold(scaffold, _quote(sandbox)),
    }
    made = render_templates("task", folder, values, ["steps"] if scaffold.steps else [])
    files[folder / "tasks" / f"{stem}.yml"] = made[folder / "task.yml"]
    files[folder / "solutions" / f"{stem}.py"] = made[folder / "solution.py"]
    return write_files_with_schemas(files, find_schema_folder(folder), catalog)


def _select_environments(
    environments: dict[str, Any], name: str | None, kind: ProjectKind, folder: Path
) -> dict[str, Any]:
    """Return the environments that have a sandbox of a kind, of the named one or all; all if the name is unknown."""
    considered = environments if name is None else {each: data for each, data in environments.items() if each == name}
    suitable = {
        each: data
        for each, data in considered.items()
        if _select_sandboxes(build_environment_info(data).sandboxes, kind)
    }
    if suitable or not considered:
        return suitable or environments
    simulator = get_simulator_kind(kind)
    names = ", ".join(f"`{each}`" for each in sorted(considered))
    raise InputError.of(
        f"no sandbox of kind `{simulator}` in {folder} (environment {names})",
        hint=f"add `{kind}: {{kind: {simulator}}}` to its `simulators`, or give a new folder with --in; "
        f"clerkship init FOLDER --kind {kind} writes an example",
    )


def _select_sandboxes(sandboxes: Mapping[str, str], kind: ProjectKind) -> dict[str, str]:
    """Return the sandboxes that a task of a kind is about."""
    return {sandbox: each for sandbox, each in sandboxes.items() if each == get_simulator_kind(kind)}


def _find_scaffold(sandboxes: Mapping[str, str], catalog: RegisteredCatalog) -> tuple[str, TaskScaffold]:
    """Return the first sandbox whose simulator has a scaffold, and the scaffold."""
    for sandbox, kind in sandboxes.items():
        scaffold = catalog.simulator(kind).scaffold if kind in catalog.simulators else None
        if isinstance(scaffold, Path):
            return sandbox, TaskScaffold(**parse_yaml(scaffold.read_text(encoding="utf-8"), scaffold.name).data)
        if scaffold is not None:
            return sandbox, scaffold
    return "", WITHOUT_SANDBOX


def _fill_scaffold(scaffold: TaskScaffold, sandbox: str) -> dict[str, str]:
    """Return the parts of a scaffold, filled and indented for the templates."""
    parts = {
        "task_item": (scaffold.task_item, 4),
        "steps": (scaffold.steps, 6),
        "criteria": (scaffold.criteria, 4),
        "body": (scaffold.solution, 4),
    }
    return {
        name: indent(fill_template(text, {"sandbox": sandbox}), " " * width).removesuffix("\n")
        for name, (text, width) in parts.items()
    }


def create_scenario(name: str, folder: Path, catalog: RegisteredCatalog, environment: str | None = None) -> list[Path]:
    """Write a scenario file that validates, with a scripted person and an assertion that a silent agent fails."""
    stem = _to_file_stem(name, "scenario")
    environments = {str(data.get("name")): data for data in _find_definitions(folder, "environment")}
    chosen = _choose_environment(environments, environment, folder) if environments or environment is not None else None
    data = environments[chosen] if chosen is not None else CONVERSATION_ENVIRONMENT.model_dump()
    kinds = build_environment_info(data).sandboxes
    chats = [s for s, kind in kinds.items() if kind in catalog.simulators and catalog.simulator(kind).converses]
    if not chats:
        raise InputError.of(
            f"environment `{chosen}` has no chat simulator", hint="add one, or name another environment"
        )
    path = folder / f"{stem}.yml"
    values = {
        "name": _quote(name),
        "file": shlex.quote(str(path)),
        "environment": _quote(chosen or ""),
        "sandbox": _quote(chats[0]),
        "solution": f"../solutions/{stem}.py",
    }
    has_solutions = (folder.parent / "solutions").is_dir()
    only = (["place"] if chosen is not None else []) + (["sandbox"] if len(chats) > 1 else [])
    made = render_templates("scenario", folder, values, [*only, *(["solution"] if has_solutions else [])])
    files: Files = {path: made[folder / "scenario.yml"]}
    if has_solutions:
        files[folder.parent / "solutions" / f"{stem}.py"] = made[folder / "solution.py"]
    return write_files_with_schemas(files, find_schema_folder(folder), catalog)


def _to_file_stem(name: str, what: str = "task") -> str:
    """Return the file name for a task: `refill_a_prescription`."""
    stem = to_file_stem(name, max_length=60)
    if not stem or not name.isprintable() or len(name) > MAX_NAME_LENGTH:
        raise InputError.of(
            f"{name!r} is not a valid {what} name", hint="choose a short name, such as Refill a prescription"
        )
    return stem


def _quote(text: str) -> str:
    """Return the text as a string literal that is valid in YAML and in Python."""
    return orjson.dumps(text).decode()


def _find_definitions(folder: Path, sort: str) -> Iterator[dict[str, Any]]:
    """Yield the definitions of one sort in a folder. Files with mistakes are skipped: `validate` reports those."""
    if not folder.is_dir():
        return
    read = SourceFolder(folder)
    for tree in map(read.read, read.files()):
        data = tree.data if tree is not None and isinstance(tree.data, dict) else {}
        several = data.get(f"{sort}s")
        for piece in [data.get(sort), *(several if isinstance(several, list) else [])]:
            if isinstance(piece, dict):
                yield piece


def _choose_environment(environments: dict[str, Any], name: str | None, folder: Path) -> str:
    if name is not None and name not in environments:
        hint = did_you_mean(name, environments)
        raise InputError.of(f"unknown environment `{name}` in {folder}", hint=hint)
    if name is None and len(environments) > 1:
        names = ", ".join(sorted(environments))
        raise InputError.of(f"{folder} has several environments", hint=f"give --environment with one of {names}")
    return name if name is not None else next(iter(environments))
