"""The agent's request that caused an event, as the log stores it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MAX_BODY = 100_000
"""Bytes stored of the body of one request."""
MAX_TOTAL_BODIES = 10_000_000
"""Bytes stored of the bodies of all requests of one trial."""
MAX_PATH = 1000
MAX_QUERY = 2000
MAX_INLINE_BODY = 512
"""A longer body, or one that is not text, is stored as a blob."""
BODY_FIELD = "request.body"
"""The name of a request's body among the blobs of its event. The dot distinguishes it from fields of the payload."""


class AgentRequest(NamedTuple):
    """A request of the agent and its outcome. Contains no headers, because they carry credentials."""

    method: str
    """`GET`; over another protocol than HTTP the operation, such as `read_file`."""
    path: str
    """`/Patient/p1`; of an HL7 message over MLLP its type and control id, `ADT^A08 (MSG00012)`."""
    query: str = ""
    """`patient=p2&_count=5`, percent-encoded."""
    status: int = 0
    """The HTTP status, or its equivalent; 0 if the connection broke before the answer."""
    answer: str = ""
    """The answer in the terms of the protocol, if the status does not say it: `AA`."""
    over: str = ""
    """`sftp` or `mllp`; empty for HTTP and for calls in process, which are recorded alike."""
    size: int = 0
    """Bytes of the body as it was sent, if the event's payload does not contain it."""
    body: bytes = b""
    """The stored part of the body; shorter than `size` if it was cut, empty if it was not stored."""
    scope: str = ""
    """The scopes of the access token, if the request had one: `patient/Observation.read`."""


def parse_request(record: Mapping[str, Any], blob: Callable[[str], bytes]) -> AgentRequest | None:
    """Parse the request of a logged event; return None if it has none."""
    fields = record.get("request")
    if fields is None:
        return None
    stored = record.get("blobs", {}).get(BODY_FIELD)
    body = blob(stored["sha256"]) if stored is not None else fields.get("body", "").encode()
    return AgentRequest(**{**fields, "body": body})
