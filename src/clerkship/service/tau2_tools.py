"""The tools of a tau2 domain, read from the source of a checkout, and functions over tables that call them.

The source is parsed and not executed. The written functions import `tau2` when they run.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from clerkship.model.errors import InputError
from clerkship.suite_files.source import Unreadable, read_text

DECORATOR = "is_tool"
_SIMPLE = {"str", "int", "float", "bool", "dict", "list", "Any", "None"}
_NAMES = {"Dict": "dict", "List": "list", "dict": "dict", "list": "list", "Optional": "Optional", "Union": "Union"}
_HEAD = '''"""Functions of the tau2 domain {domain}, which call the tools of the package `tau2`."""

from typing import Any, Literal, Optional, Union

try:
    from {package}.data_model import {database} as _Database
    from {package}.tools import {toolkit} as _Toolkit
except ImportError as error:
    raise ImportError(f"{{error}}; install the checkout of tau2-bench in the environment of clerkship") from None

_LISTS = {lists!r}
"""The tables that are lists in the database, each with the field that is the id."""


def _read(db) -> dict:
    tables = {{name: {{id: table[id] for id in table}} for name, table in db.items()}}
    return {{name: [*table.values()] if name in _LISTS else table for name, table in tables.items()}}


def _index(name: str, table: Any) -> dict:
    return {{record[_LISTS[name]]: record for record in table}} if name in _LISTS else table


def _to_json(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in value]
    if isinstance(value, dict):
        return {{str(key): _to_json(each) for key, each in value.items()}}
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def _call(db, tool: str, **arguments: Any) -> Any:
    """Run a tool on a copy of the database, and store the records that it changed."""
    given = {{name: value for name, value in arguments.items() if value is not _OMITTED}}
    toolkit = _Toolkit(_Database.model_validate(_read(db)))
    before = toolkit.db.model_dump(mode="json")
    try:
        result = _to_json(getattr(toolkit, tool)(**given))
    except Exception as error:  # as tau2 does: every error of a tool is an answer to the agent
        raise ValueError(f"Error: {{error}}") from None
    after = toolkit.db.model_dump(mode="json")
    for name, table in db.items():
        old, new = _index(name, before[name]), _index(name, after[name])
        for id in old.keys() - new.keys():
            del table[id]
        for id, record in new.items():
            if old.get(id) != record:
                table[id] = record
    return result


_OMITTED: Any = None
'''


class Tau2Tool(NamedTuple):
    """A tool of a domain."""

    name: str
    parameters: tuple[tuple[str, str, bool], ...]
    """Name, annotation, and whether it must be given."""
    text: str
    """Its docstring."""
    reads: bool
    """Whether it changes nothing."""


class Tau2Tools(NamedTuple):
    """The tools of a domain, and the classes that have them."""

    domain: str
    toolkit: str
    database: str
    tools: tuple[Tau2Tool, ...]

    def render(self, lists: Mapping[str, str]) -> str:
        """Return the source of functions that call the tools. `lists` has the id of each table that is a list."""
        package = f"tau2.domains.{self.domain}"
        head = _HEAD.format(
            domain=self.domain, package=package, database=self.database, toolkit=self.toolkit, lists=dict(lists)
        )
        return head + "".join(map(_render_function, self.tools))


def _render_function(tool: Tau2Tool) -> str:
    needed = [f"{name}: {hint}" for name, hint, is_required in tool.parameters if is_required]
    optional = [f"{name}: {hint} | None = None" for name, hint, is_required in tool.parameters if not is_required]
    arguments = "".join(f", {name}={name}" for name, _, _ in tool.parameters)
    return (
        f"\n\ndef {tool.name}({', '.join(['db', *needed, *optional])}) -> Any:\n"
        f"    {tool.text!r}\n    return _call(db, {tool.name!r}{arguments})\n"
    )


def read_tools(folder: Path, domain: str) -> Tau2Tools:
    """Read the tools of a domain from `tools.py` and `data_model.py` in a folder; raise InputError."""
    tools, model = (_parse(folder / name) for name in ("tools.py", "data_model.py"))
    aliases = {**_find_aliases(model), **_find_aliases(tools)}
    toolkits = [node for node in ast.walk(tools) if isinstance(node, ast.ClassDef) and any(_list_methods(node))]
    databases = [node.name for node in ast.walk(model) if isinstance(node, ast.ClassDef) and _extends(node, "DB")]
    if not toolkits or not databases:
        what = f"class with methods that have the decorator `{DECORATOR}`" if not toolkits else "subclass of `DB`"
        hint = "`clerkship docs bring_tau_bench` describes the layout that is read"
        raise InputError.of(f"there is no {what}", file=str(folder), hint=hint)
    read = {found[0].name: _read_tool(found, aliases) for toolkit in toolkits for found in _list_methods(toolkit)}
    return Tau2Tools(domain, toolkits[-1].name, databases[0], tuple(read.values()))


def _parse(file: Path) -> ast.Module:
    try:
        return ast.parse(read_text(file))
    except Unreadable as unreadable:
        raise InputError.of(unreadable.message, file=str(file), hint=unreadable.hint) from None
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError.of(f"it is not Python: {error}", file=str(file)) from None


def _extends(node: ast.ClassDef, name: str) -> bool:
    return any(isinstance(base, ast.Name) and base.id == name for base in node.bases)


def _list_methods(node: ast.ClassDef) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Yield the tools of a class, each with the arguments of its decorator as text."""
    for method in node.body:
        for decorator in method.decorator_list if isinstance(method, ast.FunctionDef) else ():
            if (
                isinstance(decorator, ast.Call)
                and isinstance(decorator.func, ast.Name)
                and decorator.func.id == DECORATOR
            ):
                assert isinstance(method, ast.FunctionDef)
                yield method, ast.unparse(decorator)


def _read_tool(found: tuple[ast.FunctionDef, str], aliases: Mapping[str, ast.expr]) -> Tau2Tool:
    method, kind = found
    arguments = [*method.args.args[1:], *method.args.kwonlyargs]
    optional = {each.arg for each in method.args.args[len(method.args.args) - len(method.args.defaults) :]}
    optional |= {
        each.arg for each, default in zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True) if default
    }
    parameters = tuple((each.arg, _convert(each.annotation, aliases), each.arg not in optional) for each in arguments)
    text = ast.get_docstring(method) or method.name
    return Tau2Tool(method.name, parameters, text, not re.search("WRITE|mutates_state=True", kind))


def _find_aliases(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the types that a module gives a name, such as `Cabin = Literal["economy"]`."""
    return {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Subscript)
    }


def _convert(node: ast.expr | None, aliases: Mapping[str, ast.expr], level: int = 0) -> str:
    """Return an annotation as one of JSON: models become `dict`, and what is not known `Any`."""
    match node:
        case ast.Constant(value=None):
            return "None"
        case ast.Name(id=name) if name in _SIMPLE or name in _NAMES:
            return _NAMES.get(name, name)
        case ast.Name(id=name) if name in aliases and level < len(aliases):
            return _convert(aliases[name], aliases, level + 1)
        case ast.Name():
            return "dict"
        case ast.Subscript(value=ast.Name(id="Literal")):
            return ast.unparse(node)
        case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in _NAMES:
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return f"{_NAMES[name]}[{', '.join(_convert(part, aliases, level) for part in parts)}]"
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{_convert(left, aliases, level)} | {_convert(right, aliases, level)}"
    return "Any"
