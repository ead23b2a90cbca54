"""Change one value of a YAML text. Every byte outside what differs stays: comments, order of keys, quotes, line breaks.

The old and the new value are compared, and each difference is replaced where it stands. After each replacement the
text is parsed again: what does not mean exactly what it must is undone, and the value around it is written instead.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from clerkship.service.serving.drafts.yaml_rendering import (
    render_after_key,
    render_document,
    render_entry,
    render_flow,
    render_item,
)
from clerkship.service.serving.drafts.yaml_spans import Span, parse_spans
from clerkship.suite_files.yaml import InvalidYaml

Path = tuple[int | str, ...]
ParseText = Callable[[str], Any]
"""Return the data of a text, with its includes. Raise InvalidYaml."""


MAX_PARSED_CHARACTERS = 200_000
"""Characters that are parsed to make one change. If more would be needed, the whole value is written anew."""


@dataclass(frozen=True)
class Replacement:
    """A part of a text, and what is written instead."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class TextDifference:
    """The first place where data are not as they must be, and what to do there."""

    path: Path
    action: Literal["set", "insert", "remove"] = "set"


def edit_yaml(text: str, path: Path, value: Any, parse: ParseText) -> str:
    """Return a text in which the value at a path is another one. The path exists; the text is valid."""
    has_carriage_returns = "\r\n" in text
    text = text.replace("\r\n", "\n")
    edited = _TextEditor(text, parse).edit(path, value)
    return edited.replace("\n", "\r\n") if has_carriage_returns else edited


def are_equal(one: Any, other: Any) -> bool:
    """Compare JSON data. Numbers are equal if they have the same value, because some clients know one kind only."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


class _TextEditor:
    """Edits one text until its data are the wanted ones."""

    def __init__(self, text: str, parse: ParseText) -> None:
        self._text, self._parse = text, parse
        self._data = parse(text)

    def edit(self, path: Path, value: Any) -> str:
        """Return the text with another value at a path."""
        wanted = _replace_at(self._data, path, value)
        steps = MAX_PARSED_CHARACTERS // (len(self._text) + 1)
        while (difference := _find_difference(self._data, wanted)) is not None:
            steps -= 1
            if steps > 0 and self._apply(difference, wanted):
                continue
            nearest = difference.path if difference.action == "set" else difference.path[:-1]
            ends = range(len(nearest) if steps > 0 else len(path), -1, -1)
            if not any(self._apply(TextDifference(nearest[:end]), wanted) for end in ends):
                return render_document(wanted)
        return self._text

    def _apply(self, difference: TextDifference, wanted: Any) -> bool:
        """Change one place. Return whether it then is as it must be, and nothing else differs."""
        value = None if difference.action == "remove" else get_at(wanted, difference.path)
        expected = _change_data(self._data, difference, value)
        return self._write(self._text, difference, value, expected) or self._write(
            _expand_aliases(self._text, self._data), difference, value, expected
        )

    def _write(self, text: str | None, difference: TextDifference, value: Any, expected: Any) -> bool:
        replacement = _build_replacement(text, difference, value) if text is not None else None
        if text is None or replacement is None:
            return False
        written = text[: replacement.start] + replacement.text + text[replacement.end :]
        try:
            data = self._parse(written)
        except InvalidYaml:
            return False
        if not are_equal(data, expected):
            return False
        self._text, self._data = written, data
        return True


def get_at(data: Any, path: Path) -> Any:
    """Return the value at a path. Raise LookupError if there is none."""
    for part in path:
        data = data[part]
    return data


def _change_data(data: Any, difference: TextDifference, value: Any) -> Any:
    """Return a copy of the data with one difference less."""
    path, action = difference.path, difference.action
    if action == "set":
        return _replace_at(data, path, value)
    parent, part = get_at(data, path[:-1]), path[-1]
    if isinstance(parent, dict):
        left = {key: item for key, item in parent.items() if key != part}
        return _replace_at(data, path[:-1], left if action == "remove" else {**left, part: value})
    assert isinstance(part, int)  # it is a list
    changed = [value] if action == "insert" else []
    return _replace_at(data, path[:-1], [*parent[:part], *changed, *parent[part + (action == "remove") :]])


def _replace_at(data: Any, path: Path, value: Any) -> Any:
    """Return a copy of the data with another value at a path."""
    if not path:
        return value
    part, rest = path[0], path[1:]
    changed = _replace_at(data[part], rest, value)
    if isinstance(data, dict):
        return {**data, part: changed}
    assert isinstance(part, int)  # it is a list
    return [*data[:part], changed, *data[part + 1 :]]


def _find_difference(old: Any, new: Any, path: Path = ()) -> TextDifference | None:
    """Return the first difference; None if the data are equal. What is before it is the same in both."""
    if are_equal(old, new):
        return None
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        for key in new:
            if key not in old:
                return TextDifference((*path, key), "insert")
        for key in old:
            if key not in new:
                return TextDifference((*path, key), "remove")
        differences = (_find_difference(old[key], new[key], (*path, key)) for key in old)
        return next(filter(None, differences))
    if isinstance(old, list) and isinstance(new, list) and old and new:
        return _find_list_difference(old, new, path)
    return TextDifference(path)


def _find_list_difference(old: list[Any], new: list[Any], path: Path) -> TextDifference:
    matcher = SequenceMatcher(None, list(map(_freeze, old)), list(map(_freeze, new)), autojunk=False)
    kind, start = next((kind, start) for kind, start, *_ in matcher.get_opcodes() if kind != "equal")
    if kind == "replace":
        return _find_difference(old[start], new[start], (*path, start)) or TextDifference((*path, start))
    return TextDifference((*path, start), "insert" if kind == "insert" else "remove")


def _freeze(value: Any) -> str:
    """Return a text that is the same for equal data."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{key!r}:{_freeze(item)}" for key, item in value.items())) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(_freeze, value))}]"
    return repr(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)


def _build_replacement(text: str, difference: TextDifference, value: Any) -> Replacement | None:
    """Return how to change one place of a text; None if it has no such place, as inside an included file."""
    span = parse_spans(text)
    if not difference.path:
        return Replacement(span.start, span.end, render_document(value).removesuffix("\n"))
    parent, key = span, None
    for part in difference.path[:-1]:
        child = parent.find(text, part)
        if child is None:
            return None
        parent = child[1]
    part = difference.path[-1]
    if difference.action == "insert":
        return _insert(text, parent, part, value)
    child = parent.find(text, part)
    if child is None:
        return None
    key, old = child
    if difference.action == "remove":
        return _remove(text, parent, key, old)
    if parent.is_flow:
        return Replacement(old.start, old.end, render_flow(value))
    return _replace_value(text, key, old, value) if key is not None else _replace_item(parent, old, value)


def _replace_value(text: str, key: Span, old: Span, value: Any) -> Replacement:
    """Replace the value of a key in a block. A comment between the two, in the line of the key, stays."""
    colon = text.index(":", key.end) + 1
    head, tail = render_after_key(value, key.column).partition("\n")[::2]
    comment = text[colon : max(old.start, colon)].partition("\n")[0].rstrip()
    written = head + (comment if comment.lstrip().startswith("#") else "") + (f"\n{tail}" if tail else "")
    return Replacement(colon, max(old.end, colon), written)


def _replace_item(parent: Span, old: Span, value: Any) -> Replacement:
    if isinstance(value, dict | list) and value:
        return Replacement(old.start, old.end, _render_collection(value, old.column))
    return Replacement(old.start, old.end, render_item(value, parent.column)[2:])


def _render_collection(value: Any, column: int) -> str:
    """Return a map or a list as a block that begins in a column."""
    if isinstance(value, dict):
        return ("\n" + " " * column).join(render_entry(key, item, column) for key, item in value.items())
    return ("\n" + " " * column).join(render_item(item, column) for item in value)


def _insert(text: str, parent: Span, part: int | str, value: Any) -> Replacement | None:
    """Add a value: a key after the last one of a map, an item before the one that has its number."""
    if not parent.children or (parent.kind == "map") != isinstance(part, str):
        return None
    key, last = parent.children[-1]
    written = render_flow(value) if key is None else render_flow({part: value})[1:-1]
    if isinstance(part, int) and part < len(parent.children):
        at = parent.children[part][1].start
        if parent.is_flow:
            return Replacement(at, at, f"{written}, ")
        dash = parent.start if part == 0 else _find_dash(text, parent.children[part - 1][1].end, parent.column)
        return Replacement(dash, dash, f"{render_item(value, parent.column)}\n{' ' * parent.column}")
    if parent.is_flow:
        return Replacement(last.end, last.end, f", {written}")
    column = parent.column if key is None else key.column
    written = render_item(value, column) if key is None else render_entry(str(part), value, column)
    end = _find_line_end(text, last.end)
    return Replacement(end, end, f"\n{' ' * column}{written}")


def _remove(text: str, parent: Span, key: Span | None, old: Span) -> Replacement | None:
    """Remove a value, with its key or dash, and with the comment behind it. None if nothing would be left."""
    number = next(number for number, (_, value) in enumerate(parent.children) if value is old)
    following = parent.children[number + 1] if number + 1 < len(parent.children) else None
    if len(parent.children) == 1:
        return None
    start = (key or old).start
    if parent.is_flow:
        if following is not None:
            return Replacement(start, (following[0] or following[1]).start, "")
        return Replacement(parent.children[number - 1][1].end, old.end, "")
    if key is None:
        start = parent.start if number == 0 else _find_dash(text, parent.children[number - 1][1].end, parent.column)
    end = _find_line_end(text, max(old.end, start))
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        return Replacement(line, min(end + 1, len(text)), "")
    if following is not None and "#" not in text[old.end : (following[0] or following[1]).start]:
        next_start = following[0].start if following[0] is not None else _find_dash(text, old.end, parent.column)
        return Replacement(start, next_start, "")
    return Replacement(start, end, "")


def _find_dash(text: str, after: int, column: int) -> int:
    """Return where the next item of a list begins whose dashes are in a column."""
    at = text.index("\n", after) + 1
    while text[at + column : at + column + 1] != "-" or text[at : at + column].strip():
        at = text.index("\n", at) + 1
    return at + column


def _find_line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _expand_aliases(text: str, data: Any) -> str | None:
    """Return a text with values in place of the aliases that refer to them; None if there are none.

    Then a value can be changed without the others that are written by the same words.
    """
    parts = [(span, render_flow(value)) for span, value in _find_aliases(text, parse_spans(text), data)]
    for span, written in reversed(parts):
        text = text[: span.start] + written + text[span.end :]
    return text if parts else None


def _find_aliases(text: str, span: Span, data: Any) -> Iterator[tuple[Span, Any]]:
    if span.kind == "alias":
        yield span, data
    for number, (key, value) in enumerate(span.children):
        yield from _find_aliases(text, value, data[number if key is None else key.read(text)])
