"""Read the messages, the buttons and the session id from a bot's reply, by their paths."""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from clerkship.actors.contract import AgentError, Say
from clerkship.model.path import lookup_all, split_path

TEXT_KEYS = ("text", "message", "content")
"""Keys of a message's text, if a path leads to a map."""
_TITLE_KEYS = ("title", "label", "text", "name")
_PAYLOAD_KEYS = ("payload", "value", "id")
MAX_EXCERPT = 300


def read_values(data: Any, path: str, option: str) -> list[Any]:
    """Return every value at a path; raise AgentError with what is there instead.

    A path with `*` has no value if the list is empty.
    """
    parts = split_path(path)
    values = list(lookup_all(data, parts))
    if not values:
        problem = _describe_absence(data, parts)
        if problem:
            raise AgentError(f"its reply has nothing at `{path}` ({option}): {problem}; it returned {shorten(data)}")
    return values


def _describe_absence(data: Any, parts: Sequence[str]) -> str:
    """Return what is where a path ends; an empty text if it ends in an empty list with `*`."""
    for number, part in enumerate(parts):
        place = f"`{'.'.join(parts[:number])}`" if number else "it"
        if part == "*":
            if not isinstance(data, list):
                return f"{place} is {_describe(data)}, and `*` needs a list"
            rest = ".".join(parts[number + 1 :])
            first = _describe(data[0]) if data else ""
            return f"none of the {len(data)} items of {place} has `{rest}`; the first is {first}" if data else ""
        found = list(lookup_all(data, [part]))
        if not found:
            hint = f"; for each item write `{'.'.join([*parts[:number], '*', *parts[number:]])}`"
            return f"{place} is {_describe(data)}{hint if isinstance(data, list) and not part.isdecimal() else ''}"
        data = found[0]
    return ""


def _describe(data: Any) -> str:
    if isinstance(data, dict):
        return f"a map with the keys {', '.join(map(repr, list(data)[:10]))}" if data else "an empty map"
    if isinstance(data, list):
        return f"a list of {len(data)}"
    return "null" if data is None else f"{type(data).__name__} {repr(data)[:60]}"


def shorten(data: Any) -> str:
    """Return JSON, cut for an error."""
    text = orjson.dumps(data).decode()
    return text if len(text) <= MAX_EXCERPT else f"{text[:MAX_EXCERPT]}…"


def read_messages(data: Any, path: str, buttons_path: str, option: str = "--reply") -> list[Say]:
    """Return the messages at a path: texts, maps with a text, or lists of those.

    Buttons belong to the message whose map they are in, else to the last one.
    """
    values = read_values(data, path, option)
    if not buttons_path:
        return [say for value in values for say in _to_messages(value, option)]
    messages: list[Say] = []
    reply, buttons = split_path(path), split_path(buttons_path)
    shared = _count_shared(reply, buttons)
    for node in lookup_all(data, reply[:shared]):
        is_each = shared == len(reply) and buttons[shared : shared + 1] == ["*"] and isinstance(node, list)
        for item in node if is_each else [node]:
            shown = list(lookup_all(item, buttons[shared + is_each :]))
            said = [say for value in lookup_all(item, reply[shared:]) for say in _to_messages(value, option)]
            messages += _with_buttons(said, [button for each in shown for button in _to_buttons(each)])
    return messages


def _count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _with_buttons(said: list[Say], buttons: list[dict[str, Any]]) -> list[Say]:
    if not buttons:
        return said
    last = said[-1] if said else Say("")
    return [*said[:-1], Say(last.text, buttons=tuple(buttons), custom=last.custom)]


def _to_messages(value: Any, option: str) -> Iterator[Say]:
    if value is None:
        return
    if isinstance(value, str):
        yield Say(value)
    elif isinstance(value, list):
        for item in value:
            yield from _to_messages(item, option)
    elif isinstance(value, dict):
        yield _to_message(value)
    else:
        raise AgentError(f"its reply has {_describe(value)} where {option} points; expected text")


def _to_message(value: dict[str, Any]) -> Say:
    """Return a message from a map. A map without text and buttons, such as an image, is kept as custom data."""
    text = next((value[key] for key in TEXT_KEYS if isinstance(value.get(key), str)), "")
    buttons = tuple(_to_buttons(value.get("buttons")))
    return Say(text, buttons=buttons, custom=None if text or buttons else value)


def _to_buttons(value: Any) -> Iterator[dict[str, Any]]:
    """Yield buttons with `title` and `payload`, whatever the bot calls them."""
    if isinstance(value, str):
        yield {"title": value, "payload": value}
    elif isinstance(value, list):
        for item in value:
            yield from _to_buttons(item)
    elif isinstance(value, dict):
        title = next((value[key] for key in _TITLE_KEYS if isinstance(value.get(key), str)), None)
        payload = next((value[key] for key in _PAYLOAD_KEYS if isinstance(value.get(key), str)), title)
        yield value | ({} if title is None else {"title": title, "payload": payload})
    elif value is not None:
        raise AgentError(f"its buttons (--buttons) are {_describe(value)}; expected texts or maps with a title")


def read_session(data: Any, path: str) -> str | int | None:
    """Return the session id at a path, or None if there is none; raise AgentError if it is not text or a number."""
    value = next(iter(lookup_all(data, split_path(path))), None)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise AgentError(f"its session id at `{path}` (--session) is {_describe(value)}; expected text or a number")
    return None if value == "" else value
