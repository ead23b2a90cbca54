"""Cut the answer of a model as its limit of tokens would: in the last text, or the arguments of the last tool call."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

Body = dict[str, Any]


class Piece(NamedTuple):
    """A piece of a text in the body of an answer, or in an event of a stream."""

    text: Any
    """What the pieces of one text have in common."""
    holder: Body
    field: str


class Cut(NamedTuple):
    """How many characters of a text are left."""

    kept: int
    of: int


def cut_answer(operation: str, bodies: Sequence[Body], keep: int | None = None) -> Cut | None:
    """Cut an answer, given its body or the events of a stream; return None if it has no text.

    `keep` characters of the last text are left, by default half of them. Of a stream of OpenAI's responses, only the
    response in its last event is cut.
    """
    list_pieces, end = _OPERATIONS[operation]
    listed = (piece for body in bodies for piece in list_pieces(body))
    pieces = [piece for piece in listed if (value := piece.holder.get(piece.field)) and isinstance(value, str | dict)]
    if not pieces:
        return None
    last = [piece for piece in pieces if piece.text == pieces[-1].text]
    whole = sum(len(_render(piece.holder[piece.field])) for piece in last)
    left = kept = min(whole // 2 if keep is None else keep, whole)
    for piece in last:
        value = piece.holder[piece.field]
        # The arguments of a tool call that are an object cannot be cut: such APIs leave out what is incomplete.
        piece.holder[piece.field] = value[:left] if isinstance(value, str) else {}
        left = max(left - len(value), 0)
    for body in bodies:
        end(body)
    return Cut(kept, whole)


def _render(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _object(value: Any) -> Body:
    """Return an object, whatever a provider sends."""
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> Iterator[Body]:
    """Yield the objects of a list."""
    yield from (part for part in (value if isinstance(value, list) else ()) if isinstance(part, dict))


def _list_chat(body: Body) -> Iterator[Piece]:
    for choice in _objects(body.get("choices")):
        message = _object(choice.get("message") or choice.get("delta"))
        yield Piece("content", message, "content")
        for number, call in enumerate(_objects(message.get("tool_calls"))):
            yield Piece(call.get("index", number), _object(call.get("function")), "arguments")


def _end_chat(body: Body) -> None:
    for choice in _objects(body.get("choices")):
        if choice.get("finish_reason"):
            choice["finish_reason"] = "length"


def _list_message(body: Body) -> Iterator[Piece]:
    blocks = [*_objects(body.get("content")), _object(body.get("delta"))]
    for number, block in enumerate(blocks):
        for field in ("thinking", "text", "partial_json", "input"):
            yield Piece(body.get("index", number), block, field)


def _end_message(body: Body) -> None:
    for holder in (body, _object(body.get("delta"))):
        if holder.get("stop_reason"):
            holder["stop_reason"] = "max_tokens"


def _list_content(body: Body) -> Iterator[Piece]:
    for candidate in _objects(body.get("candidates")):
        for part in _objects(_object(candidate.get("content")).get("parts")):
            yield Piece("thought" if part.get("thought") else "text", part, "text")
            call = _object(part.get("functionCall"))
            yield Piece(id(call), call, "args")


def _end_content(body: Body) -> None:
    for candidate in _objects(body.get("candidates")):
        if candidate.get("finishReason"):
            candidate["finishReason"] = "MAX_TOKENS"


def _list_response(body: Body) -> Iterator[Piece]:
    for item in _objects(body.get("output")):
        for holder in (*_objects(item.get("content")), item):
            yield from (Piece(id(holder), holder, field) for field in ("text", "arguments", "input"))


def _end_response(body: Body) -> None:
    body |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    for item in [*_objects(body.get("output"))][-1:]:
        item["status"] = "incomplete"


_OPERATIONS: Mapping[str, tuple[Callable[[Body], Iterator[Piece]], Callable[[Body], None]]] = {
    "chat": (_list_chat, _end_chat),
    "responses": (_list_response, _end_response),
    "messages": (_list_message, _end_message),
    "generate": (_list_content, _end_content),
}
"""By operation: what lists the pieces of texts, and what writes that the limit was reached."""
