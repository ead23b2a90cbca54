"""What to write after `--agent` for a file: `python:module:name`, or `command:` with its interpreter."""

import ast
import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

_ENTRY_POINTS = frozenset({"on_turn", "on_task"})
_FIRST_PARAMETERS = frozenset({"message", "task_item"})
MAX_SOURCE_BYTES = 1_000_000
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_PYTHON_SUFFIXES = (".py", ".pyw")
_INTERPRETERS: Mapping[str, str] = {
    **dict.fromkeys(_PYTHON_SUFFIXES, "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "node"),
    **dict.fromkeys((".ts", ".mts"), "npx tsx"),
    ".rb": "ruby",
    ".pl": "perl",
    ".php": "php",
    ".lua": "lua",
    ".R": "Rscript",
    ".sh": "bash",
    ".jar": "java -jar",
}
"""What runs a file, by its suffix."""
_MAX_NAMES = 3
_FORMS = "`python:module:name` for a Python object, or `command:…` for a program"


class AgentSource(NamedTuple):
    """What a Python file offers as agents."""

    names: tuple[str, ...] = ()
    """The classes, functions and objects that can be named after `python:module:`."""
    is_program: bool = False
    """Whether it reads standard input or runs code as `__main__`."""


def read_agent_source(path: Path) -> AgentSource:
    """Return the agents in a Python file; nothing if it cannot be read or is not valid Python."""
    try:
        with path.open("rb") as file:
            tree = ast.parse(file.read(MAX_SOURCE_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return AgentSource()
    return AgentSource(tuple(_find_agents(tree)), _is_program(tree))


def _find_agents(tree: ast.Module) -> list[str]:
    """Return the names of agents: of those with known entry points, otherwise of classes that may inherit them."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    names = [name for name in classes if _has_entry_points(name, classes)]
    names += [node.name for node in tree.body if isinstance(node, _Function) and _takes_messages(node)]
    names += [name for node in tree.body for name in _find_instances(node, names)]
    if not names:
        names = [name for name, node in classes.items() if any(_is_imported(base, classes) for base in node.bases)]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


def _has_entry_points(name: str, classes: dict[str, ast.ClassDef], seen: tuple[str, ...] = ()) -> bool:
    node = classes.get(name)
    if node is None or name in seen:
        return False
    if any(isinstance(part, _Function) and part.name in _ENTRY_POINTS for part in node.body):
        return True
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    return any(_has_entry_points(base, classes, (*seen, name)) for base in bases)


def _takes_messages(function: _Function) -> bool:
    parameters = (*function.args.posonlyargs, *function.args.args)
    return bool(parameters) and parameters[0].arg in _FIRST_PARAMETERS


def _find_instances(node: ast.stmt, agents: list[str]) -> list[str]:
    """Return the variables that a statement sets to an object of one of these classes, as in `agent = Bot()`."""
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in agents):
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_imported(base: ast.expr, classes: dict[str, ast.ClassDef]) -> bool:
    name = base.id if isinstance(base, ast.Name) else base.attr if isinstance(base, ast.Attribute) else ""
    return name not in classes and name[:1].isupper() and not name.endswith(_OTHER_BASES)


_OTHER_BASES = ("Exception", "Error", "Enum", "Protocol", "TypedDict", "NamedTuple", "BaseModel", "TestCase", "ABC")
"""Endings of classes that are no base of an agent."""


def _is_program(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "stdin":
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "input":
            return True
    return False


def suggest_file(reference: str) -> str:
    """Return what to write instead of a file's path or a module's name; empty if the text is neither."""
    path = Path(reference)
    if _is_file(path):
        return suggest_python(reference) if path.suffix in _PYTHON_SUFFIXES else _suggest_program(reference)
    if " " in reference:
        return ""
    file, _, name = reference.rpartition(":")
    if file.endswith(_PYTHON_SUFFIXES) and _is_file(Path(file)):
        return suggest_python(file, name)
    if os.sep in reference and is_folder(reference):
        return suggest_no_folder()
    if path.suffix in _INTERPRETERS or reference.startswith(("./", "../", "/")):
        return f"there is no such file; write {_FORMS}"
    return _suggest_module(reference)


def suggest_python(file: str, name: str = "") -> str:
    """Return what to write instead of the path of a Python file, and of the name of an object in it, if given."""
    path = Path(file)
    if not _is_file(path):
        return "there is no such file"
    source, module, command = read_agent_source(path), _find_module(path), _write_command(file)
    names = (name,) if name else source.names
    if names and not module:
        return f"write `python:{path.stem}:{names[0]}` in the folder {path.resolve().parent}"
    if names and source.is_program and not name:
        return f"{_write_agents(module, names)}, or {command} if it is a program"
    if names:
        return _write_agents(module, names)
    if source.is_program:
        return f"write {command}"
    needed = "it has no class with `on_turn` or `on_task`, and no function of `message` or `task_item`"
    return f"{needed}; if it is a program that reads messages from standard input, write {command}"


def suggest_no_folder() -> str:
    """Return what to write instead of a folder."""
    return f"it is a folder; write {_FORMS}"


def is_folder(reference: str) -> bool:
    """Return whether a text is the path of a folder."""
    return os.path.isdir(reference)  # noqa: PTH112  (the text may be too long for a path)


def suggest_names(module: str, file: str | None) -> str:
    """Return what to write for the agents in the file of a module; empty if it has none."""
    names = read_agent_source(Path(file)).names if file else ()
    return _write_agents(module, names) if names else ""


def _write_agents(module: str, names: Iterable[str]) -> str:
    references = [f"`python:{module}:{name}`" for name in names]
    return f"write {' or '.join(references[:_MAX_NAMES])}"


def _suggest_module(reference: str) -> str:
    """Return what to write instead of `agent` or `agent:Agent` beside a file `agent.py`."""
    module, _, name = reference.partition(":")
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        return ""
    file = Path(*parts).with_suffix(_PYTHON_SUFFIXES[0])
    return suggest_python(str(file), name) if _is_file(file) else ""


def _suggest_program(reference: str) -> str:
    """Return what to write instead of the path of a file that is not Python."""
    if Path(reference).suffix in _INTERPRETERS:
        return f"write {_write_command(reference)}"
    program = shlex.quote(reference if os.sep in reference else f"./{reference}")
    first = "" if os.access(reference, os.X_OK) else f"make it executable with `chmod +x {program}`, and "
    return f"{first}write `command:{program}`"


def _write_command(file: str) -> str:
    return f'`"command:{_INTERPRETERS[Path(file).suffix]} {shlex.quote(file)}"`'


def _find_module(path: Path) -> str:
    """Return the dotted name of a file below the working folder; empty if it cannot be imported from there."""
    absolute, here = path.resolve(), Path.cwd().resolve()
    if not absolute.is_relative_to(here):
        return ""
    parts = absolute.relative_to(here).with_suffix("").parts
    return "" if any("." in part or ":" in part for part in parts) else ".".join(parts)


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113  (the text may be too long for a path)
