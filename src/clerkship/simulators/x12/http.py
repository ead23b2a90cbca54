"""The HTTP routes of a clearinghouse."""

from typing import Any

from clerkship.sandbox.request import JSON, Refusal, Reply, json_reply
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators.x12 import operations as ops
from clerkship.simulators.x12.core_envelope import (
    CoreEnvelope,
    CoreReply,
    read_envelope,
    refuse_envelope,
    render_core_fields,
)
from clerkship.simulators.x12.operations import Context
from clerkship.simulators.x12.views import view_interchange
from clerkship.transports.multipart import FORM, parse_form

EDI = "application/edi-x12"
"""RFC 1767."""
ACCEPTED_TYPES = (EDI, "text/plain", "application/octet-stream", "")
_BIG_BODY = 50_000
"""Bytes from which a request may take long."""


def parse_interchange(call: HttpCall, context: Context) -> ops.NewInterchange:
    """Parse a request to send an interchange; the Accept header or `view` says how to return the reply."""
    headers, query = call.request.headers, call.request.query
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media == FORM:
        raise Refusal(415, "unsupported_media_type", "send multipart/form-data to /x12/core")
    if media not in ACCEPTED_TYPES:
        raise Refusal(415, "unsupported_media_type", f"the body is {media[:60]} (expected: {EDI} or text/plain)")
    view = query.get("view", "")
    if view not in ("", "edi", "json"):
        raise Refusal(400, "bad_view", f"view is {view[:40]!r} (expected: edi or json)")
    accept = headers.get("accept", "").lower()
    is_json = view == "json" or (not view and JSON in accept and EDI not in accept)
    return ops.NewInterchange(edi=call.body, view="json" if is_json else "edi")


def render_replies(call: HttpCall, context: Context, replies: ops.InterchangeReplies) -> Reply:
    """Render the replies as EDI or JSON; 204 if there is none."""
    state, answer = context.state, describe_replies(context, replies)
    if replies.is_json:
        body = {"interchanges": [view_interchange(state, each) for each in replies.interchanges]}
        reply = json_reply(200, body)
        return Reply(200, reply.body, reply.media, answer=answer)
    if not replies.edi:
        return Reply(204, answer=answer)
    return Reply(200, replies.edi.encode(), f"{EDI}; charset=utf-8", answer=answer)


def describe_replies(context: Context, replies: ops.InterchangeReplies) -> str:
    """Return which transactions a reply has, for the log: `271, 999`."""
    ids = [id for each in replies.interchanges for reply in each.replies for id in reply.transactions]
    return ", ".join(dict.fromkeys(context.state.transactions[id].transaction for id in ids))


def parse_envelope(call: HttpCall, context: Context) -> CoreEnvelope:
    """Parse a CORE envelope."""
    return read_envelope(parse_form(call.request))


def render_envelope(call: HttpCall, context: Context, reply: CoreReply) -> Reply:
    """Render a CORE envelope."""
    return render_core_fields(reply.fields, answer=reply.answer)


def _is_big(request: Any) -> bool:
    return len(request.body) > _BIG_BODY


ROUTES = (
    Route("GET", "/x12", ops.read_profile),
    Route(
        "POST",
        "/x12/interchanges",
        ops.send_interchange,
        body="edi",
        query=("view",),
        media=EDI,
        parse=parse_interchange,
        render=render_replies,
        is_heavy=_is_big,
    ),
    Route(
        "POST",
        "/x12/core",
        ops.submit_envelope,
        media="multipart/form-data",
        parse=parse_envelope,
        render=render_envelope,
        refuse=refuse_envelope,
        is_heavy=_is_big,
    ),
    Route("GET", "/x12/interchanges", ops.list_interchanges),
    Route("GET", "/x12/interchanges/{id}", ops.read_interchange),
    Route("GET", "/x12/transactions", ops.list_transactions),
    Route("GET", "/x12/transactions/{id}", ops.read_transaction),
)
