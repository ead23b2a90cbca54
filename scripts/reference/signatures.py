"""Signatures of classes and functions as stubs, taken from their source: the same text on every version of Python."""

import ast
import inspect
import textwrap
from collections.abc import Iterator

import clerkship.plugin

MAX_DEFAULT = 40
"""Characters of a default value; a longer one is shown as `...`."""
_SHOWN_DECORATORS = ("property", "classmethod", "staticmethod", "abstractmethod")
_SHOWN_METHODS = ("__init__", "_json")
"""Methods that are shown though their names are private: `_json` is what the methods of a `Handle` are made of."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def stub_of(thing: object) -> str:
    """Return the stub of a class or a function: no bodies, no docstrings, nothing private.

    A class has the members of its base classes that are not exported to plug-ins themselves.
    """
    node = _parse(thing)
    if isinstance(node, ast.ClassDef):
        hidden = [_parse(base) for base in _hidden_bases(thing)]  # type: ignore[arg-type]
        return "\n".join(_class(node, [base for base in hidden if isinstance(base, ast.ClassDef)]))
    assert isinstance(node, _Function)
    return _function(node)


def _parse(thing: object) -> ast.stmt:
    [node] = ast.parse(textwrap.dedent(inspect.getsource(thing))).body  # type: ignore[arg-type]
    return node


def _hidden_bases(thing: type) -> list[type]:
    """Return the base classes of ours that are not exported, nor bases of one that is; the most general first."""
    ours = [base for base in thing.__mro__[1:] if base.__module__.startswith("clerkship.")]
    exported = [base for base in ours if base.__name__ in vars(clerkship.plugin)]
    return [base for base in reversed(ours) if not any(issubclass(each, base) for each in exported)]


def _class(node: ast.ClassDef, hidden: list[ast.ClassDef]) -> Iterator[str]:
    own = {name for part in node.body if (name := _name(part))}
    inherited = [part for base in hidden for part in base.body if _name(part) not in own]
    private = {base.name: base.bases for base in hidden if base.name.startswith("_")}
    named = [shown for base in node.bases for shown in private.get(ast.unparse(base), [base])]
    bases = ", ".join([ast.unparse(part) for part in (*named, *node.keywords)])
    members = [line for part in (*inherited, *node.body) for line in _member(part)]
    head = f"class {node.name}({bases}):" if bases else f"class {node.name}:"
    yield head if members else f"{head} ..."
    yield from (f"    {line}" for line in members)


def _name(part: ast.stmt) -> str:
    """Return the name of a member of a class; nothing for what is none."""
    if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
        return part.target.id
    return part.name if isinstance(part, _Function) else ""


def _member(part: ast.stmt) -> Iterator[str]:
    if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and not part.target.id.startswith("_"):
        yield f"{part.target.id}: {_type(part.annotation)}{_default(part.value)}"
    elif isinstance(part, _Function) and (not part.name.startswith("_") or part.name in _SHOWN_METHODS):
        names = [ast.unparse(decorator) for decorator in part.decorator_list]
        yield from (f"@{name}" for name in names if name in _SHOWN_DECORATORS)
        yield _function(part)


def _function(node: _Function) -> str:
    arguments = node.args
    arguments.defaults = [_short(default) for default in arguments.defaults]
    arguments.kw_defaults = [default and _short(default) for default in arguments.kw_defaults]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{word} {node.name}({ast.unparse(arguments)}){returns}: ..."


def _type(annotation: ast.expr) -> str:
    """Return a type without what pydantic is told about it."""
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated":
        assert isinstance(annotation.slice, ast.Tuple)
        return _type(annotation.slice.elts[0])
    return ast.unparse(annotation)


def _default(value: ast.expr | None) -> str:
    return "" if value is None else f" = {ast.unparse(_short(value))}"


def _short(value: ast.expr) -> ast.expr:
    text = ast.unparse(value)
    is_private = isinstance(value, ast.Call) and text.startswith("_")
    return ast.Constant(...) if is_private or len(text) > MAX_DEFAULT else value
