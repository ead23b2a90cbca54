"""What an agent hands back, made into what the log can hold, or refused as nonsense."""

import math
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel, JsonValue

from clerkship.actors.contract import AgentError, Say

TEXT_LIMIT = 100_000
ANSWER_LIMIT = 1_000_000
MOST_REPLIES = 100


def parse_replies(value: Any) -> list[Say]:
    """None, text, Say, a map with `text`, or a list of those."""
    items = value if isinstance(value, list | tuple) else [value]
    if len(items) > MOST_REPLIES:
        raise AgentError(f"on_turn returned {len(items)} replies; the limit is {MOST_REPLIES}")
    return [_say(item) for item in items if item is not None and not (isinstance(item, str) and not item)]


def _say(item: Any) -> Say:
    if isinstance(item, str):
        return Say(_text(item))
    if isinstance(item, Say):
        if not isinstance(item.utter_name, str | None):
            raise AgentError(f"a reply's utter_name is {_named(item.utter_name)}")
        return Say(
            _text(item.text), item.utter_name, _buttons(item.buttons) if item.buttons else (), _plain_map(item.metadata)
        )
    if (
        isinstance(item, Mapping)
        and isinstance(item.get("text"), str)
        and item.keys() <= Say.__dataclass_fields__.keys()
    ):
        return _say(Say(**item))
    raise AgentError(f"on_turn returned {_named(item)}; expected text, Say, a map with `text`, or a list of those")


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise AgentError(f"a reply's text is {_named(text)}")
    if len(text) > TEXT_LIMIT:
        raise AgentError(f"a reply of {len(text):,} characters; the limit is {TEXT_LIMIT:,}")
    return text.encode(errors="replace").decode()


def _buttons(buttons: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(buttons, list | tuple):
        raise AgentError(f"a reply's buttons are {_named(buttons)}")
    plain = parse_answer(list(buttons), what="buttons")
    if not isinstance(plain, list) or not all(isinstance(button, dict) for button in plain):
        raise AgentError("a reply's buttons must be maps")
    return tuple(plain)  # type: ignore[arg-type]


def _plain_map(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    plain = parse_answer(value, what="metadata")
    if not isinstance(plain, dict):
        raise AgentError(f"a reply's metadata is {_named(value)}")
    return plain


def parse_answer(value: Any, what: str = "answer") -> JsonValue:
    """Anything JSON can say, within the limit."""
    if isinstance(value, str) and len(value) > ANSWER_LIMIT:
        raise AgentError(f"its {what} has {len(value):,} characters; the limit is {ANSWER_LIMIT:,}")
    try:
        data = orjson.dumps(value, default=_model)
    except (TypeError, RecursionError) as error:
        if isinstance(value, str):
            return value.encode(errors="replace").decode()
        raise AgentError(f"its {what} cannot be written as JSON: {error}") from None
    if _is_not_a_number(value):
        raise AgentError(f"its {what} has a number in it that JSON cannot say (infinity, or not a number)")
    if len(data) > ANSWER_LIMIT:
        raise AgentError(f"its {what} has {len(data):,} bytes; the limit is {ANSWER_LIMIT:,}")
    plain: JsonValue = orjson.loads(data)
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


def _named(value: Any) -> str:
    return f"{type(value).__name__} {repr(value)[:60]}"
