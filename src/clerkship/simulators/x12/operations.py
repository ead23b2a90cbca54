"""The operations of a clearinghouse."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, WithJsonSchema

from clerkship.formats.x12.interchange import Interchange
from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.simulators.x12.content import count_levels, parse_content
from clerkship.simulators.x12.core_envelope import CoreEnvelope, CoreError, CoreReply, build_core_reply, check_envelope
from clerkship.simulators.x12.events import EnvelopeRefused
from clerkship.simulators.x12.processing import Receipt, receive_interchange
from clerkship.simulators.x12.records import X12Interchange
from clerkship.simulators.x12.state import X12State
from clerkship.simulators.x12.views import (
    summarize_interchange,
    summarize_transaction,
    view_interchange,
    view_profile,
    view_transaction,
)

MAX_EVENTS_PER_SET = 5
"""Events that a transaction set about one patient may cause: itself, those of the payer, its answer, and effects in
other sandboxes. Each further patient, which is a level, may cause one."""
MAX_LISTED = 1000
"""Interchanges or transactions in one list."""
Context = OperationContext[X12State]


class NewInterchange(Frozen):
    """An interchange to send."""

    edi: Annotated[
        bytes,
        WithJsonSchema({"type": "string", "description": "the interchange, from ISA to IEA; several may follow"}),
    ]
    view: Annotated[Literal["edi", "json"], Field(description="how to return the reply: as it is, or also as JSON")] = (
        "edi"
    )


class InterchangeFilter(Frozen):
    """Which interchanges to list."""

    after: Annotated[str, Field(pattern=r"^\d{0,9}$", description="id after which the list starts")] = ""


class TransactionFilter(InterchangeFilter):
    """Which transactions to list."""

    transaction: Annotated[str, Field(max_length=3, description="270, 271, 999, TA1, …; all if not given")] = ""
    trace: Annotated[str, Field(max_length=80, description="trace number, TRN02; all if not given")] = ""


class RecordId(Frozen):
    """An interchange, or a transaction."""

    id: Annotated[str, Field(max_length=20, description="its id, such as 1")]


class InterchangeReplies(NamedTuple):
    """The interchanges of a request with their replies."""

    interchanges: Sequence[X12Interchange]
    edi: str
    """All replies; empty if there is none."""
    is_json: bool


@operation()
def read_profile(context: Context, nothing: NoInput) -> dict[str, Any]:
    """Return what an interchange must state: the ids of sender and receiver, the usage indicator, and the guides of the
    transactions that are answered.
    """
    return view_profile(context.state.config)


@operation(essential=True, shorter_hint="send fewer transaction sets at once")
def send_interchange(context: Context, sent: NewInterchange) -> InterchangeReplies:
    """Send an X12 5010 interchange (270, 276 or 278) and get the reply: 271, 277 or 278. A transaction set with errors
    is refused with a 999, an interchange with errors with a TA1. Use a new control number (ISA13) each time.
    """
    interchanges = parse_content(sent.edi, context.state.config)
    received = _receive(context, interchanges, Receipt())
    return InterchangeReplies(received, render_replies(context.state, received), sent.view == "json")


def _receive(context: Context, interchanges: Sequence[Interchange], receipt: Receipt) -> list[X12Interchange]:
    sets = sum(len(interchange.sets) for interchange in interchanges)
    if sets > 1 and sets * MAX_EVENTS_PER_SET + count_levels(interchanges) > context.events_left:
        reason = f"the log of this run has no room for {sets} more transaction sets; nothing was processed"
        raise Refusal(429, "too_many_requests", reason)
    return [receive_interchange(context.state, context.action, each, receipt) for each in interchanges]


def render_replies(state: X12State, interchanges: Sequence[X12Interchange]) -> str:
    """Write the replies to interchanges, one after the other."""
    return "".join(state.render_reply(each, reply) for each in interchanges for reply in each.replies)


@operation(access="login", tool=False)
def submit_envelope(context: Context, envelope: CoreEnvelope) -> CoreReply:
    """Send an interchange in the multipart envelope of the CAQH CORE connectivity rule, in real time."""
    state, action = context.state, context.action
    try:
        interchanges = check_envelope(envelope, state.config)
    except CoreError as error:
        action.emit(EnvelopeRefused(code=error.code, reason=error.reason))
        return build_core_reply(state, action.now, envelope, error)
    received = _receive(context, interchanges, Receipt("core"))
    return build_core_reply(state, action.now, envelope, received, render_replies(state, received))


@operation()
def list_interchanges(context: Context, page: InterchangeFilter) -> dict[str, Any]:
    """List the interchanges you have sent, oldest first, each with what was in it and in the reply."""
    state, first = context.state, int(page.after or 0)
    selected = [each for each in state.interchanges.values() if int(each.id) > first]
    listed = [summarize_interchange(state, each) for each in selected[:MAX_LISTED]]
    return {"interchanges": listed, **({"next": selected[MAX_LISTED - 1].id} if len(selected) > MAX_LISTED else {})}


@operation()
def read_interchange(context: Context, interchange: RecordId) -> dict[str, Any]:
    """Return an interchange you have sent, with the reply as EDI and as JSON."""
    return view_interchange(context.state, context.state.find_interchange(interchange.id))


@operation()
def list_transactions(context: Context, filter: TransactionFilter) -> dict[str, Any]:
    """List the transactions you have sent and received, oldest first; all, or those of a kind or with a trace."""
    first = int(filter.after or 0)
    selected = [
        each
        for each in context.state.visible_transactions()
        if int(each.id) > first and filter.transaction in ("", each.transaction) and filter.trace in ("", each.trace)
    ]
    listed = [summarize_transaction(context.state, each) for each in selected[:MAX_LISTED]]
    return {"transactions": listed, **({"next": selected[MAX_LISTED - 1].id} if len(selected) > MAX_LISTED else {})}


@operation(essential=True)
def read_transaction(context: Context, transaction: RecordId) -> dict[str, Any]:
    """Return a transaction as JSON, with named loops, segments and elements, and as EDI."""
    return view_transaction(context.state, context.state.find_transaction(transaction.id))


OPERATIONS = (
    *(read_profile, send_interchange, submit_envelope),
    *(list_interchanges, read_interchange, list_transactions, read_transaction),
)
