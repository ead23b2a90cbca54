"""The functions of a tau2 domain, read from the source of a checkout, and functions over tables that call them.

The source is parsed and not executed. The written functions import `tau2` when they run.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from clerkship.model.errors import InputError
from clerkship.suite_files.source import Unreadable, read_text

DECORATOR = "is_tool"
FIELDS, PERSON_DATA = "fields", "person_data"
"""The tables of what is no table in the database of the domain, and of the database of the person."""
Side = Literal["assistant", "user"]
"""Whose function it is, in the words of tau2: the agent's or the person's."""
_TOOLKITS: Mapping[Side, str] = {"assistant": "tools", "user": "user_tools"}
"""The modules of the functions, which are also the attributes of an environment of tau2."""
_SIMPLE = {"str", "int", "float", "bool", "dict", "list", "Any", "None"}
_NAMES = {"Dict": "dict", "List": "list", "dict": "dict", "list": "list", "Optional": "Optional", "Union": "Union"}
_HEAD = '''"""Functions of the tau2 domain {domain}, which call the tools of the package `tau2`."""

from typing import Any, Literal, Optional, Union

try:
    from {package}.environment import get_environment as _get_environment
{imports}except ImportError as error:
    raise ImportError(f"{{error}}; install the checkout of tau2-bench in the environment of clerkship") from None

_LISTS = {lists!r}
"""The tables that are lists in the database, each with the field that is the id."""
_OMITTED: Any = None


def _open(db, kept) -> Any:
    """Return the environment of tau2 over the tables. It is kept until something else changes them."""
    if "environment" not in kept:
        tables = {{name: {{id: table[id] for id in table}} for name, table in db.items()}}
        models = {{}}
        for argument, (model, names) in _split(tables).items():
            models[argument] = model.model_validate(names)
        kept["stored"] = _to_tables(db, models)
        kept["environment"] = _get_environment(**models)
    return kept["environment"]


def _split(tables: dict) -> dict:
    """Return the model of each database with its content, by the argument of `get_environment`."""
    person = {{id: record.get("value", record) for id, record in tables.pop({person!r}, {{}}).items()}}
    fields = {{id: record["value"] for id, record in tables.pop({fields!r}, {{}}).items()}}
    lists = {{name: [*table.values()] if name in _LISTS else table for name, table in tables.items()}}
    return {databases}


def _to_tables(db, models: dict) -> dict:
    """Return the content of the databases as tables."""
    tables: dict = {{name: {{}} for name in db}}
    for name, value in models["db"].model_dump(mode="json").items():
        if name not in db:
            tables[{fields!r}][name] = {{"value": value}}
        elif name in _LISTS:
            tables[name] = {{record[_LISTS[name]]: record for record in value}}
        else:
            tables[name] = value
    if "user_db" in models:
        for name, value in models["user_db"].model_dump(mode="json").items():
            tables[{person!r}][name] = value if isinstance(value, dict) else {{"value": value}}
    return tables


def _store(db, kept) -> None:
    """Store the records that the environment has changed."""
    environment = kept["environment"]
    models = {{"db": environment.tools.db}}
    if {person!r} in db:
        models["user_db"] = environment.user_tools.db
    stored, tables = kept["stored"], _to_tables(db, models)
    for name, records in tables.items():
        if stored[name] == records:
            continue
        for id in stored[name].keys() - records.keys():
            del db[name][id]
        for id, record in records.items():
            if stored[name].get(id) != record:
                db[name][id] = record
    kept["stored"] = tables


def _to_json(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in value]
    if isinstance(value, dict):
        return {{str(key): _to_json(each) for key, each in value.items()}}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _call(db, kept, toolkit: str, function: str, writes: bool, **arguments: Any) -> Any:
    """Call a function of tau2, bring the databases in line, and store what changed."""
    environment = _open(db, kept)
    given = {{name: value for name, value in arguments.items() if value is not _OMITTED}}
    try:
        result = _to_json(getattr(getattr(environment, toolkit), function)(**given))
        environment.sync_tools()
    except Exception as error:  # as tau2 does: every error of a tool is an answer
        if writes:
            kept.clear()  # the call is refused as a whole, and may have changed a part
        raise ValueError(f"Error: {{error}}") from None
    if writes:
        _store(db, kept)
    return result
'''


class Tau2Function(NamedTuple):
    """A function of a domain: a tool of the agent or of the person, or one that only tasks use."""

    name: str
    """Its name in the suite."""
    method: str
    side: Side
    is_tool: bool
    parameters: tuple[tuple[str, str, bool], ...]
    """Name, annotation, and whether it must be given."""
    text: str
    """Its docstring."""
    reads: bool
    """Whether it changes nothing."""


class Tau2Functions(NamedTuple):
    """The functions of a domain, and the classes of its databases."""

    domain: str
    database: str
    person_database: str
    """Empty if the person has no database of their own."""
    functions: tuple[Tau2Function, ...]

    def find(self, side: str, method: str) -> Tau2Function | None:
        """Return a function by its name in tau2; None if there is none."""
        return next((each for each in self.functions if (each.side, each.method) == (side, method)), None)

    @property
    def person_tools(self) -> list[Tau2Function]:
        """The tools of the person."""
        return [each for each in self.functions if each.is_tool and each.side == "user"]

    @property
    def not_for_agents(self) -> list[str]:
        """The names of the functions that are no tools of the agent."""
        return [each.name for each in self.functions if not (each.is_tool and each.side == "assistant")]

    def render(self, lists: Mapping[str, str]) -> str:
        """Return the source of functions that call those of tau2. `lists` has the id of each table that is a list."""
        package = f"tau2.domains.{self.domain}"
        imports = f"    from {package}.data_model import {self.database} as _Database\n"
        databases = '{"db": (_Database, {**lists, **fields})'
        if self.person_database:
            imports += f"    from {package}.user_data_model import {self.person_database} as _PersonDatabase\n"
            databases += ', "user_db": (_PersonDatabase, person)'
        head = _HEAD.format(
            domain=self.domain,
            package=package,
            imports=imports,
            databases=f"{databases}}}",
            lists=dict(lists),
            fields=FIELDS,
            person=PERSON_DATA,
        )
        return head + "".join(map(_render_function, self.functions))


def _render_function(function: Tau2Function) -> str:
    needed = [f"{name}: {hint}" for name, hint, is_required in function.parameters if is_required]
    optional = [
        f"{name}: {hint}{'' if 'None' in hint or hint.startswith('Optional') else ' | None'} = None"
        for name, hint, is_required in function.parameters
        if not is_required
    ]
    arguments = "".join(f", {name}={name}" for name, _, _ in function.parameters)
    called = f"{_TOOLKITS[function.side]!r}, {function.method!r}, {not function.reads}"
    return (
        f"\n\ndef {function.name}({', '.join(['db', 'kept', *needed, *optional])}) -> Any:\n"
        f"    {function.text!r}\n    return _call(db, kept, {called}{arguments})\n"
    )


def read_functions(folder: Path, domain: str) -> Tau2Functions:
    """Read the functions of a domain from the modules of its folder; raise InputError."""
    models = [_parse(folder / name) for name in ("data_model.py", "user_data_model.py") if (folder / name).exists()]
    if not (folder / "data_model.py").exists():
        models = [_parse(folder / "data_model.py")]  # which raises
    aliases: dict[str, ast.expr] = {}
    for model in models:
        aliases |= _find_aliases(model)
    functions: list[Tau2Function] = []
    for side, module in _TOOLKITS.items():
        if side == "assistant" or (folder / f"{module}.py").exists():
            tree = _parse(folder / f"{module}.py")
            taken = {each.name for each in functions}
            functions += _list_functions(tree, side, {**aliases, **_find_aliases(tree)}, taken)
    databases = [next(_find_databases(model), "") for model in models]
    has_tools = any(each.is_tool and each.side == "assistant" for each in functions)
    if not has_tools or not databases[0]:
        what = f"class with methods that have the decorator `{DECORATOR}`" if not has_tools else "subclass of `DB`"
        hint = "`clerkship docs bring_tau_bench` describes the layout that is read"
        raise InputError.of(f"there is no {what}", file=str(folder), hint=hint)
    return Tau2Functions(domain, databases[0], "".join(databases[1:]), tuple(functions))


def _parse(file: Path) -> ast.Module:
    try:
        return ast.parse(read_text(file))
    except Unreadable as unreadable:
        raise InputError.of(unreadable.message, file=str(file), hint=unreadable.hint) from None
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError.of(f"it is not Python: {error}", file=str(file)) from None


def _find_databases(tree: ast.Module) -> Iterator[str]:
    return (node.name for node in tree.body if isinstance(node, ast.ClassDef) and "DB" in _list_bases(node))


def _list_bases(node: ast.ClassDef) -> list[str]:
    return [base.id for base in node.bases if isinstance(base, ast.Name)]


def _list_functions(
    tree: ast.Module, side: Side, aliases: Mapping[str, ast.expr], taken: set[str]
) -> list[Tau2Function]:
    """Return the tools in the classes of a module, and the public methods without a decorator beside them."""
    methods: dict[str, tuple[ast.FunctionDef, str | None]] = {}
    for node in tree.body:
        found = dict(_list_methods(node)) if isinstance(node, ast.ClassDef) else {}
        if any(kind is not None for kind in found.values()):
            methods |= {method.name: (method, kind) for method, kind in found.items()}
    return [_read_function(method, kind, side, aliases, taken) for method, kind in methods.values()]


def _list_methods(node: ast.ClassDef) -> Iterator[tuple[ast.FunctionDef, str | None]]:
    """Yield the public methods of a class; a tool with its decorator as text."""
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name.startswith("_") or method.args.vararg:
            continue
        decorators = [ast.unparse(each) for each in method.decorator_list]
        tool = next((each for each in decorators if re.match(rf"{DECORATOR}\b", each)), None)
        if tool is not None or not decorators:
            yield method, tool


def _read_function(
    method: ast.FunctionDef, kind: str | None, side: Side, aliases: Mapping[str, ast.expr], taken: set[str]
) -> Tau2Function:
    arguments = [*method.args.args[1:], *method.args.kwonlyargs]
    optional = {each.arg for each in method.args.args[len(method.args.args) - len(method.args.defaults) :]}
    optional |= {
        each.arg for each, default in zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True) if default
    }
    parameters = tuple((each.arg, _convert(each.annotation, aliases), each.arg not in optional) for each in arguments)
    name = f"{side}_{method.name}" if method.name in taken else method.name
    reads = kind is not None and not re.search("WRITE|mutates_state=True", kind)
    text = ast.get_docstring(method) or method.name
    return Tau2Function(name, method.name, side, kind is not None, parameters, text, reads)


def _find_aliases(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the types that a module gives a name, such as `Cabin = Literal["economy"]`; an enumeration is one too."""
    aliases: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if isinstance(node.value, ast.Subscript):
                aliases[node.targets[0].id] = node.value
        elif isinstance(node, ast.ClassDef) and "Enum" in _list_bases(node):
            values = [each.value for each in node.body if isinstance(each, ast.Assign)]
            aliases[node.name] = ast.Subscript(
                ast.Name("Literal", ast.Load()), ast.Tuple(values, ast.Load()), ast.Load()
            )
    return aliases


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
