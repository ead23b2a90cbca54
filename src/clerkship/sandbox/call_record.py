"""The record of a call of an operation, as JSON that can have bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from clerkship.by_name import load

BYTES_KEY = "$bytes"
"""The key of a JSON object that represents bytes, each byte as a character of Latin-1."""


@dataclass(frozen=True)
class CallRecord:
    """A call of an operation as JSON, complete enough to repeat it."""

    operation: str
    input: Mapping[str, Any] = field(default_factory=dict)
    transport: str = ""
    """The protocol of the call. A listener may set fields that an agent cannot; see `RecordedCall`."""
    target: str = ""
    body: bytes = b""
    answer: str = ""
    """The answer in terms of the protocol, for the log; see `Reply.answer`."""


def encode_bytes(value: Any) -> Any:
    """Return JSON data in which an object represents each bytes value."""
    if isinstance(value, bytes):
        return {BYTES_KEY: value.decode("latin-1")}
    if isinstance(value, Mapping):
        return {key: encode_bytes(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encode_bytes(item) for item in value]
    is_plain = value is None or isinstance(value, str | int | float)
    return value if is_plain else orjson.loads(orjson.dumps(value, default=_encode_model))


def decode_bytes(value: Any) -> Any:
    """Return the data that was passed to `encode_bytes`."""
    if isinstance(value, Mapping):
        if value.keys() == {BYTES_KEY}:
            return value[BYTES_KEY].encode("latin-1")
        return {key: decode_bytes(item) for key, item in value.items()}
    return [decode_bytes(item) for item in value] if isinstance(value, list) else value


def _encode_model(value: Any) -> Any:
    return load("clerkship.model.frozen:encode_model")(value)
