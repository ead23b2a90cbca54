"""Messages as JSON."""

from typing import Annotated, Any, cast

import orjson
from pydantic import Field, ValidationError

from clerkship.events.event import Event, Utterance
from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.model.frozen import Frozen
from clerkship.sandbox.exchange import Refusal


class NewMessage(Frozen):
    """What an agent posts."""

    text: Annotated[str, Field(min_length=1, max_length=100_000)]
    buttons: tuple[dict[str, Any], ...] = ()


def parse_message(body: bytes) -> NewMessage:
    """Read a posted message; raise Refusal for what is none."""
    try:
        content = orjson.loads(body)
        if is_deeper_than(content):
            raise Refusal(422, "not_a_message", f"the body is nested more than {MAX_DEPTH} levels deep")
        return NewMessage.model_validate(content)
    except orjson.JSONDecodeError:
        raise Refusal(400, "not_json", "the body is not JSON") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "body"
        raise Refusal(422, "not_a_message", f"{place}: {first['msg']}") from None


def render_message(event: Event) -> dict[str, Any]:
    """A message as an agent reads it."""
    said = cast(Utterance, event.payload)
    shown = {"id": event.seq, "at": event.at.isoformat(), "from": event.actor, "text": said.text}
    return shown | {"buttons": list(said.buttons)} if said.buttons else shown


def parse_after(text: str) -> int:
    """Read the `after` of a query."""
    if not text.isdigit() or len(text) > 18:
        raise Refusal(400, "bad_after", "`after` is the id of a message")
    return int(text)
