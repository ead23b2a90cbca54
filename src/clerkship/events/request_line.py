"""Requests on one line, `GET Condition?patient=p2 → 200, 1 match`, for the terminal, reports and evidence."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from clerkship.events.event import Event, request_fields
from clerkship.events.lifecycle import FaultInjected, ModelCalled, RequestRefused, SpanRecorded

MAX_TARGET = 160
"""Characters of a path with its query."""
MAX_OUTCOME = 200
MAX_TEXT = 80
SFTP = "sftp"
MLLP = "mllp"
WEBSOCKET = "websocket"
_SFTP_VERBS = {
    "read_file": "read",
    "write_file": "write",
    "delete_file": "remove",
    "stamp_file": "set the time of",
    "list_files": "list",
    "list_folder": "list",
    "list_outermost": "list",
    "make_folder": "mkdir",
    "remove_folder": "rmdir",
    "stat_outermost": "stat",
    "space_for": "open to write",
}
_WRITES = {"create": "POST", "update": "PUT", "patch": "PATCH"}
Fields = Mapping[str, Any]


def render_event_request(event: Event) -> str | None:
    """Render the request of an event; return None if it has none."""
    request = request_fields(event.request) if event.request is not None else None
    return render_request(event.kind, event.actor, event.payload.__dict__, request)


def render_logged_request(event: Fields) -> str | None:
    """Render the request of a logged event; return None if it has none."""
    return render_request(event["kind"], event["actor"], event["payload"], event.get("request"))


def render_request(kind: str, actor: str, payload: Fields, request: Fields | None) -> str | None:
    """Render a request and its outcome.

    FHIR events without a request (from logs of earlier versions, or from an entry of a Bundle) are rendered from
    their payload.
    """
    if kind == ModelCalled.kind:
        return _render_model_call(payload)
    if kind == SpanRecorded.kind:
        return _render_span(payload)
    if request is None:
        return _render_from_payload(kind, payload) if actor == "agent" else None
    target = _render_target(request, payload)
    return _to_one_line(f"{target} → {_clip(_render_outcome(kind, payload, request, target), MAX_OUTCOME)}")


def describe_unauthenticated_requests(sidecar: Fields) -> list[str]:
    """Return the number of requests without a valid credential, then each of them; empty if there was none."""
    return _describe_requests(sidecar.get("unauthenticated"), "without a valid credential, not in the log")


def describe_unmatched_requests(unmatched: Fields | None) -> list[str]:
    """Return the number of requests to no active trial, then each of them; empty if there was none."""
    return _describe_requests(unmatched, "for no trial under way")


def _describe_requests(recorded: Fields | None, what: str) -> list[str]:
    if not recorded or not recorded["count"]:
        return []
    count, requests = recorded["count"], recorded["requests"]
    rest = count - len(requests)
    head = f"{count:,} request{'s' * (count != 1)} {what}"
    return [head, *map(_render_refused_request, requests), *([f"… and {rest:,} more"] if rest else [])]


def _render_refused_request(request: Fields) -> str:
    sandbox, path = request.get("sandbox", ""), request.get("path", "")
    shown = {**request, "method": request.get("method", "unreadable request"), "path": f"/{sandbox}{path}"}
    answered = " ".join(str(request[part]) for part in ("status", "reason") if part in request)
    return _to_one_line(f"{_render_target(shown, {})} → {answered}")


def _render_target(request: Fields, payload: Fields) -> str:
    over, method, path = request.get("over", ""), request["method"], request["path"]
    if over == MLLP:
        return f"MLLP {path}" if method == "send_message" else f"MLLP {method} {path}"
    if over == WEBSOCKET:
        return _clip(f"WebSocket {method} {path.removeprefix('/')}".strip(), MAX_TARGET)
    if over == SFTP and not method.isupper():
        target = f"/{payload['path']} to /{payload['to']}" if method == "rename" and "to" in payload else path
        return _clip(f"{_SFTP_VERBS.get(method, method)} {target}", MAX_TARGET)
    query = request.get("query", "")
    target = (path.lstrip("/") or "/") + (f"?{_decode_query(query)}" if query else "")
    if not query and path.endswith("/_search") and isinstance(payload.get("query"), str):
        target += f" ({_decode_query(payload['query'])})"
    return _clip(f"{method} {target}", MAX_TARGET)


def _render_model_call(payload: Fields) -> str:
    """Return `chat gpt-5-mini → 200, calls read_file, send`."""
    calls = [call["name"] if isinstance(call, Mapping) else call.name for call in payload.get("tool_calls", ())]
    notes = [f"calls {', '.join(calls)}"] if calls else [payload.get("finish_reason", "")]
    outcome = ", ".join(filter(None, [str(payload["status"] or "no answer"), *notes, payload.get("error", "")]))
    return _to_one_line(f"{payload['operation']} {payload['model']} → {_clip(outcome, MAX_OUTCOME)}")


def _render_span(payload: Fields) -> str:
    """Return `execute_tool read_file`, or the operation and the model; the name of the span if it has neither."""
    what = payload.get("tool_name") or payload.get("model")
    line = f"{payload['operation']} {what}" if what else payload["name"]
    error = f" → error: {_clip(payload.get('error_message', ''), MAX_OUTCOME)}" if payload.get("is_error") else ""
    return _to_one_line(f"{line}{error}")


def _render_outcome(kind: str, payload: Fields, request: Fields, target: str) -> str:
    """Return the status and a note about the answer. SFTP and MLLP have no status."""
    has_no_status = request.get("over") in (SFTP, MLLP)
    status = "" if has_no_status else str(request["status"]) if request["status"] else "no answer"
    if kind == FaultInjected.kind:
        return f"{status or request['status'] or 'no answer'} (fault: {payload['fault']})"
    if kind == RequestRefused.kind:
        return f"{status} {payload['reason']}".strip()
    answer = request.get("answer", "")
    answered = f"{status} {answer}".strip()
    return (answered + _render_note(kind, payload, target)).removeprefix(", ") or "ok"


def _render_note(kind: str, payload: Fields, target: str) -> str:
    """Return details of the answer, chosen by the fields of the payload, so that events of plug-ins have some too."""
    for field, write in _NOTE_RENDERERS.items():
        if isinstance(payload.get(field), (int, list, tuple)):
            return f", {write(payload[field])}"
    if "turn" in payload and isinstance(payload.get("text"), str):
        return f", {_render_recipients(payload)}“{_clip(payload['text'], MAX_TEXT)}”"
    if isinstance(payload.get("control_id"), str):
        return _render_message_note(kind, payload, target)
    if "path" in payload and "to" in payload:
        return "" if payload["to"] in target else f", {payload['path']} to {payload['to']}"
    name = f"{payload['type']}/{payload['id']}" if payload.get("type") and payload.get("id") else ""
    return f" {name}" if name and name not in target else ""


def _render_recipients(payload: Fields) -> str:
    """Return channel and recipients of a message, `sms to +15550100123: `; nothing for a chat."""
    header = payload.get("header")
    header = getattr(header, "__dict__", header)  # a model in a running trial, data in a stored log
    if not isinstance(header, Mapping):
        return ""
    recipients = [address for field in ("to", "cc", "bcc") for address in header.get(field) or ()]
    line = f"{header.get('channel', 'message')} to {', '.join(recipients)}"
    return f"{_clip(line, MAX_TEXT)}: " if recipients else ""


def _render_message_note(kind: str, payload: Fields, target: str) -> str:
    """Return type and control id of an HL7 message, `ADT^A08 (MSG00012)`, and why it was refused."""
    trigger = payload.get("trigger")
    type = payload.get("type") or (f"{kind.split('.')[1].upper()}^{trigger}" if trigger else "")
    message = f"{type} ({payload['control_id']})".strip()
    reasons = payload.get("reasons") or ("",)
    note = "" if message in target else f", {message}" if type else f" {message}"
    return f"{note}: {reasons[0]}" if reasons[0] else note


def _count_renderer(one: str, many: str) -> Callable[[Any], str]:
    def write(value: int | Sequence[Any]) -> str:
        number = value if isinstance(value, int) else len(value)
        return f"{number:,} {one if number == 1 else many}"

    return write


_NOTE_RENDERERS: dict[str, Callable[[Any], str]] = {
    "total": _count_renderer("match", "matches"),
    "errors": _count_renderer("error", "errors"),
    "entries": _count_renderer("entry", "entries"),
    "size": _count_renderer("byte", "bytes"),
    "count": _count_renderer("entry", "entries"),
    "ids": _count_renderer("message", "messages"),
    "found": _count_renderer("version", "versions"),
}


def _render_from_payload(kind: str, payload: Fields) -> str | None:
    target = _render_fhir_target(kind, payload)
    if target is None:
        return None
    target = _clip(target, MAX_TARGET)
    return _to_one_line(f"{target} → {payload.get('status', 200)}{_render_note(kind, payload, target)}")


def _render_fhir_target(kind: str, payload: Fields) -> str | None:
    type, id, operation = payload.get("type", ""), payload.get("id", ""), payload.get("operation", "")
    if kind == "fhir.resources.searched":
        parts = (payload.get("within", ""), type, operation if operation.startswith("$") else "")
        query = payload.get("query", "")
        return f"GET {'/'.join(filter(None, parts)) or '/'}" + (f"?{_decode_query(query)}" if query else "")
    if kind == "fhir.resource.read" and operation in ("read", "vread"):
        return f"GET {type}/{id}" + (f"/_history/{payload['version']}" if operation == "vread" else "")
    if kind in ("fhir.resource.created", "fhir.resource.updated") and operation in _WRITES:
        return f"{_WRITES[operation]} {type}" + (f"/{id}" if operation != "create" else "")
    if kind == "fhir.resource.deleted":
        return f"DELETE {type}/{id}"
    if kind == "fhir.history.read":
        return f"GET {'/'.join(filter(None, (type, id, '_history')))}"
    if kind == "fhir.bundle.processed":
        return "POST /"
    return "GET metadata" if kind == "fhir.capabilities.read" else None


def _decode_query(query: str) -> str:
    return unquote(query, errors="replace")


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def _to_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
