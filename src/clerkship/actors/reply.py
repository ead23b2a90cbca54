"""Validate what an agent returns, or select it by paths, and convert it to what the log can store."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import orjson
from pydantic import BaseModel, JsonValue, ValidationError

from clerkship.actors.contract import AgentError, ReplyPart, Say
from clerkship.events.agent import BUILT_IN_EVENTS, AgentEvents
from clerkship.events.event import Payload
from clerkship.events.log import MAX_EVENTS, MAX_LOG_BYTES, Log
from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.kit.text import replace_surrogates
from clerkship.model.names import did_you_mean
from clerkship.model.path import lookup_all, split_path

TEXT_KEYS = ("text", "message", "content")
"""Keys of a message's text, if a path leads to a map."""
_TITLE_KEYS = ("title", "label", "text", "name")
_PAYLOAD_KEYS = ("payload", "value", "id")
MAX_EXCERPT = 300
MAX_TEXT_LENGTH = 100_000
MAX_ANSWER_LENGTH = 1_000_000
MAX_REPORTS = 10_000
LOG_FULL = f"the log of the trial is full: an agent may fill it up to {MAX_EVENTS:,} events or {MAX_LOG_BYTES:,} bytes"


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
        values = list(lookup_all(data, [part]))
        if not values:
            hint = f"; for each item write `{'.'.join([*parts[:number], '*', *parts[number:]])}`"
            return f"{place} is {_describe(data)}{hint if isinstance(data, list) and not part.isdecimal() else ''}"
        data = values[0]
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
            replies = [say for value in lookup_all(item, reply[shared:]) for say in _to_messages(value, option)]
            messages += _with_buttons(replies, [button for each in shown for button in _to_buttons(each)])
    return messages


def _count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _with_buttons(messages: list[Say], buttons: list[dict[str, Any]]) -> list[Say]:
    if not buttons:
        return messages
    last = messages[-1] if messages else Say("")
    return [*messages[:-1], Say(last.text, buttons=tuple(buttons), custom=last.custom)]


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


def parse_replies(value: Any, events: AgentEvents | None = BUILT_IN_EVENTS) -> list[ReplyPart]:
    """Parse the result of a turn: None, text, Say, a map with `text`, an event of the agent, or a list of those.

    For `events` see `parse_event`.
    """
    if isinstance(value, str):
        return [Say(_parse_text(value))] if value.strip() else []  # the most common case
    items = value if isinstance(value, list | tuple) else [value]
    if len(items) > MAX_REPORTS:
        raise AgentError(f"it returned {len(items):,} replies and events; the limit is {MAX_REPORTS:,}")
    parts = [_parse_reply_part(item, events) for item in items if item is not None]
    return [part for part in parts if not (isinstance(part, Say) and part.is_blank)]


def check_log_capacity(log: Log) -> None:
    """Raise AgentError if the log accepts no more reports and replies of the agent."""
    if log.is_full:
        log.overflowed = True
        raise AgentError(LOG_FULL)


def parse_event(payload: Payload, events: AgentEvents | None = BUILT_IN_EVENTS) -> Payload:
    """Return a storable copy of an agent's event; raise TypeError if its kind is not in `events`.

    `events` is None if the kind is checked later, in another process.
    """
    kind = type(payload)
    known = isinstance(payload, Payload) and (events is None or events.get(getattr(payload, "kind", "")) is kind)
    if not known:
        raise TypeError(
            f"an agent may report flows, actions, slots and so on, and `events` of a plug-in; not {kind.__name__}"
        )
    required = _required(kind)
    emptied: dict[str, Any] = {}
    for name, value in payload.__dict__.items():
        if type(value) is dict and not value:
            emptied[name] = {}  # a copy, because the agent may fill its own dict later
        elif not ((type(value) is str and value.isascii()) or (value is None and name not in required)):
            return kind.model_validate(parse_answer(payload.model_dump(), what="report"))
    if not required <= payload.__dict__.keys():
        raise TypeError(f"a {kind.__name__} lacks a field")
    return payload.model_copy(update=emptied) if emptied else payload  # the rest of it cannot change: most are so


@cache
def _required(kind: type[Payload]) -> frozenset[str]:
    return frozenset(name for name, info in kind.model_fields.items() if info.is_required())


def parse_report(report: Any, events: AgentEvents = BUILT_IN_EVENTS) -> Payload:
    """Parse an agent's event from JSON: `{"kind": "agent.slot.set", "name": …, "value": …}`."""
    if not isinstance(report, Mapping) or not isinstance(report.get("kind"), str):
        raise AgentError(f"a report must be a map with `kind`, not {type(report).__name__} {repr(report)[:60]}")
    kind = report["kind"]
    if kind not in events:
        raise AgentError(f"unknown kind `{kind[:80]}` in a report; {did_you_mean(kind[:80], events)}")
    try:
        return events[kind].model_validate({key: value for key, value in report.items() if key != "kind"})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise AgentError(f"invalid report of {kind}: {place}: {first['msg']}") from None


def report_fields(payload: Payload) -> dict[str, Any]:
    """Return an agent's event as JSON; `parse_report` reads it back."""
    return {"kind": payload.kind, **payload.model_dump(mode="json")}


def _parse_reply_part(item: Any, events: AgentEvents | None) -> ReplyPart:
    if not isinstance(item, Payload):
        if isinstance(item, dict) and "kind" in item:
            return parse_event(parse_report(item, events or BUILT_IN_EVENTS), events)
        return _parse_say(item)
    try:
        return parse_event(item, events)
    except TypeError as error:
        raise AgentError(str(error)) from None


def _parse_say(item: Any) -> Say:
    if isinstance(item, str):
        return Say(_parse_text(item))
    if isinstance(item, Say):
        if not isinstance(item.utter_name, str | None):
            raise AgentError(f"a reply's utter_name is {_describe_type(item.utter_name)}")
        return Say(
            _parse_text(item.text),
            replace_surrogates(item.utter_name) if item.utter_name is not None else None,
            _parse_buttons(item.buttons) if item.buttons else (),
            _plain_map(item.metadata, "metadata"),
            _plain_map(item.custom, "custom"),
        )
    if (
        isinstance(item, Mapping)
        and isinstance(item.get("text"), str)
        and item.keys() <= Say.__dataclass_fields__.keys()
    ):
        return _parse_say(Say(**item))
    raise AgentError(f"it returned {_describe_type(item)}; expected text, Say, a map with `text`, or a list of those")


def _parse_text(text: Any) -> str:
    if not isinstance(text, str):
        raise AgentError(f"a reply's text is {_describe_type(text)}")
    if len(text) > MAX_TEXT_LENGTH:
        raise AgentError(f"a reply of {len(text):,} characters; the limit is {MAX_TEXT_LENGTH:,}")
    return replace_surrogates(text)


def _parse_buttons(buttons: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(buttons, list | tuple):
        raise AgentError(f"a reply's buttons are {_describe_type(buttons)}")
    plain = parse_answer(list(buttons), what="buttons")
    if not isinstance(plain, list) or not all(isinstance(button, dict) for button in plain):
        raise AgentError("a reply's buttons must be maps")
    return tuple(plain)  # type: ignore[arg-type]


def _plain_map(value: Any, what: str) -> dict[str, Any] | None:
    if value is None:
        return None
    plain = parse_answer(value, what=what)
    if not isinstance(plain, dict):
        raise AgentError(f"a reply's {what} is {_describe_type(value)}")
    return plain


def parse_answer(value: Any, what: str = "answer") -> JsonValue:
    """Return a copy of any JSON value; raise AgentError for what is not JSON, too long or nested too deeply."""
    if isinstance(value, str) and len(value) > MAX_ANSWER_LENGTH:
        raise AgentError(f"its {what} has {len(value):,} characters; the limit is {MAX_ANSWER_LENGTH:,}")
    try:
        data = orjson.dumps(value, default=_model)
    except (TypeError, RecursionError) as error:
        if isinstance(value, str):
            return replace_surrogates(value)
        raise AgentError(f"its {what} cannot be written as JSON: {error}") from None
    if _is_not_a_number(value):
        raise AgentError(f"its {what} has a number in it that JSON cannot say (infinity, or not a number)")
    if len(data) > MAX_ANSWER_LENGTH:
        raise AgentError(f"its {what} has {len(data):,} bytes; the limit is {MAX_ANSWER_LENGTH:,}")
    plain: JsonValue = orjson.loads(data)
    if is_deeper_than(plain):
        raise AgentError(f"its {what} is nested more than {MAX_DEPTH} levels deep")
    return plain


def _is_not_a_number(value: Any) -> bool:
    """Whether there is one in it: orjson would write null without a word."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_is_not_a_number, value.values()))
    return isinstance(value, list | tuple) and any(map(_is_not_a_number, value))


def _model(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} is not JSON")


def _describe_type(value: Any) -> str:
    return f"{type(value).__name__} {repr(value)[:60]}"
