"""Find the agents in a Python file by reading it, without running it."""

import ast
from pathlib import Path
from typing import NamedTuple

_ENTRY_POINTS = frozenset({"on_turn", "on_task"})
_FIRST_PARAMETERS = frozenset({"message", "task_item"})
MAX_SOURCE_BYTES = 1_000_000
_Function = ast.FunctionDef | ast.AsyncFunctionDef


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
