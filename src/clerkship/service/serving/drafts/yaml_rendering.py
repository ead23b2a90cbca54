"""Render values as YAML 1.2 at a place of an existing text."""

import math
import re
from typing import Any

import yaml

from clerkship.model.errors import InputError, InputProblem
from clerkship.suite_files.yaml import MAX_DEPTH, format_key_path

_FLOW_WIDTH = 100
"""Characters of a list of texts and numbers that is written in one line."""
_INTEGER_END = 2**63
_TAG = "tag:yaml.org,2002:"
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")
_ESCAPED = re.compile("[^\t\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Signs that are escaped in a text: some parsers take them for line breaks."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Dumper(yaml.SafeDumper):
    """Dumps JSON data in the style of the shipped suites. What YAML 1.1 or 1.2 takes for no text is quoted."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.ScalarNode:
        if _ESCAPED.search(text):
            return self.represent_scalar(f"{_TAG}str", text, style='"')
        is_block = "\n" in text.strip("\n") and not any(line.endswith((" ", "\t")) for line in text.split("\n"))
        return self.represent_scalar(f"{_TAG}str", text, style="|" if is_block else None)

    def represent_items(self, items: list[Any]) -> yaml.SequenceNode:
        is_short = not any(isinstance(item, dict | list) for item in items) and len(repr(items)) < _FLOW_WIDTH
        is_short = is_short and not any(isinstance(item, str) and "\n" in item for item in items)
        return self.represent_sequence(f"{_TAG}seq", items, flow_style=True if is_short else None)


_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_representer(list, _Dumper.represent_items)
_Dumper.add_implicit_resolver(f"{_TAG}float", _NUMBER, list("-+.0123456789"))


def require_renderable(value: Any, path: tuple[int | str, ...] = ()) -> None:
    """Raise InputError for what JSON can hold and YAML files cannot, such as an infinite number."""
    message = ""
    if len(path) > MAX_DEPTH - 10:
        message = f"nested deeper than {MAX_DEPTH - 10} levels"
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(key, str) and _SURROGATE.search(key):
                message = "a key is not valid Unicode"
                break
            require_renderable(item, (*path, key))
    elif isinstance(value, float) and not math.isfinite(value):
        message = "infinity and not-a-number are not allowed"
    elif isinstance(value, int) and not -_INTEGER_END <= value < _INTEGER_END:
        message = "the number has more than 64 bits"
    elif isinstance(value, str) and _SURROGATE.search(value):
        message = "the text is not valid Unicode"
    if message:
        raise InputError([InputProblem(key=format_key_path(path), message=message)])


def render_document(value: Any) -> str:
    """Return a value as a whole file."""
    return _dump(value, is_flow=False)


def render_flow(value: Any) -> str:
    """Return a value as it is written inside braces or brackets, in one line."""
    return _dump([value], is_flow=True).strip()[1:-1].strip()


def render_entry(key: str, value: Any, column: int) -> str:
    """Return `key: value` for a map whose keys are in a column. The first line is not indented."""
    return _indent(_dump({key: value}, is_flow=False), column)


def render_after_key(value: Any, column: int) -> str:
    """Return what follows the colon of a key in a column: the value with the white space before it."""
    return _indent(_dump({"k": value}, is_flow=False)[2:], column)


def render_item(value: Any, column: int) -> str:
    """Return `- value` for a list whose dashes are in a column. The first line is not indented."""
    is_scalar = not isinstance(value, dict | list)
    return f"-{render_after_key(value, column)}" if is_scalar else _indent(_dump([value], is_flow=False), column)


def _dump(value: Any, *, is_flow: bool) -> str:
    return str(
        yaml.dump(
            value,
            Dumper=_Dumper,
            default_flow_style=is_flow,
            width=math.inf,
            allow_unicode=True,
            sort_keys=False,
        )
    )


def _indent(text: str, column: int) -> str:
    """Return a text without its last line break; all lines but the first are indented."""
    first, *others = text.removesuffix("\n").split("\n")
    return "\n".join([first, *(f"{' ' * column}{line}" if line else line for line in others)])
