"""Interchanges and transactions as plain data, for people and for the tools of models."""

from collections.abc import Mapping
from typing import Any

from clerkship.formats.x12.envelope_checks import FUNCTIONAL_CODES
from clerkship.formats.x12.grammar_tables import load_grammar
from clerkship.formats.x12.header import SUPPORTED_CONTROL_VERSION
from clerkship.formats.x12.json_view import view_set
from clerkship.formats.x12.validation import validate_set
from clerkship.simulators.x12.config import TradingPartner, X12Config
from clerkship.simulators.x12.intake import ANSWERED_SETS, REQUEST_GRAMMARS
from clerkship.simulators.x12.records import TA1, InterchangeReply, X12Interchange, X12Transaction
from clerkship.simulators.x12.state import X12State

_TA1_ELEMENTS = ("interchange_control_number", "interchange_date", "interchange_time", "status", "note_code")


def view_profile(config: X12Config) -> dict[str, Any]:
    """Describe what an interchange must state to be accepted, and which transactions are answered."""
    grammars = [load_grammar(key) for key in REQUEST_GRAMMARS]
    return {
        "senders": [_view_partner(partner) for partner in config.senders],
        "receiver": _view_partner(config.receiver),
        "usage": config.usage,
        "version": SUPPORTED_CONTROL_VERSION,
        "character_set": config.character_set,
        "control_numbers": config.control_numbers,
        "transactions": [
            {
                "transaction": grammar.code,
                "name": grammar.name,
                "guide": grammar.versions[0],
                "functional_code": FUNCTIONAL_CODES[grammar.code],
                "answer": ANSWERED_SETS[grammar.code],
            }
            for grammar in grammars
        ],
        "limits": {"bytes": config.max_interchange, "transaction_sets": config.max_sets},
    }


def _view_partner(partner: TradingPartner) -> dict[str, str]:
    return {"qualifier": partner.qualifier, "id": partner.id}


def summarize_transaction(state: X12State, transaction: X12Transaction) -> dict[str, Any]:
    """Describe a transaction in one line. An answer that is not delivered yet is not named."""
    summary: dict[str, Any] = {
        "id": transaction.id,
        "direction": "sent" if transaction.is_from_agent else "received",
        "transaction": transaction.transaction,
        "control_number": transaction.control_number,
        "trace": transaction.trace or None,
        "outcome": transaction.outcome,
        "interchange": transaction.interchange,
        "at": transaction.at.isoformat(),
    }
    other = state.transactions.get(transaction.other)
    if other is not None and other.is_delivered:
        summary["request" if transaction.outcome == "answer" else "answer"] = transaction.other
    if transaction.reasons:
        summary["reasons"] = list(transaction.reasons)
    return summary


def view_transaction(state: X12State, transaction: X12Transaction) -> dict[str, Any]:
    """Describe a transaction with its content."""
    return {**summarize_transaction(state, transaction), "content": view_content(transaction), "edi": transaction.edi}


def view_content(transaction: X12Transaction) -> Mapping[str, Any]:
    """Return the loops, segments and elements of a transaction with their names."""
    parsed = transaction.parse()
    if transaction.transaction == TA1:
        return dict(zip(_TA1_ELEMENTS, parsed.header.elements[1:], strict=False))
    content: Mapping[str, Any] = view_set(validate_set(parsed))["content"]
    return content


def summarize_interchange(state: X12State, interchange: X12Interchange) -> dict[str, Any]:
    """Describe an interchange and what is in it and in its replies, one line each."""
    return {
        "id": interchange.id,
        "control_number": interchange.control_number,
        "sender": interchange.sender,
        "receiver": interchange.receiver,
        "received_as": interchange.received_as,
        **({"file": interchange.file} if interchange.file else {}),
        "at": interchange.at.isoformat(),
        "accepted": interchange.is_accepted,
        **({} if interchange.is_accepted else {"code": interchange.code, "reason": interchange.reason}),
        "sent": [summarize_transaction(state, state.transactions[id]) for id in interchange.transactions],
        "received": [
            summarize_transaction(state, state.transactions[id])
            for reply in _delivered(interchange)
            for id in reply.transactions
        ],
    }


def view_interchange(state: X12State, interchange: X12Interchange) -> dict[str, Any]:
    """Describe an interchange with the content of its replies."""
    replies = [_view_reply(state, interchange, reply) for reply in _delivered(interchange)]
    summary = summarize_interchange(state, interchange)
    del summary["received"]
    return {**summary, "replies": replies}


def _delivered(interchange: X12Interchange) -> list[InterchangeReply]:
    return [reply for reply in interchange.replies if reply.due is None]


def _view_reply(state: X12State, interchange: X12Interchange, reply: InterchangeReply) -> dict[str, Any]:
    transactions = [state.transactions[id] for id in reply.transactions]
    return {
        "control_number": reply.control_number,
        "transactions": [
            {**summarize_transaction(state, each), "content": view_content(each)} for each in transactions
        ],
        "edi": state.render_reply(interchange, reply),
    }
