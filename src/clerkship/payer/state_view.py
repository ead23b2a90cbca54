"""What is shown of the payers at one moment: authorizations and appeals, and the members whom the trial is about."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from pydantic import BaseModel

from clerkship.payer.answer import Authorization
from clerkship.payer.events import PayerEvent
from clerkship.payer.records import PayerRecords
from clerkship.payer.state import PayerState
from clerkship.sandbox.plain_data import to_plain
from clerkship.sandbox.state_view import StateRow, ViewedTrial


def list_rows(state: PayerState, trial: ViewedTrial) -> Iterator[StateRow]:
    """List authorizations, appeals, and the claims and the coverage of the trial's members."""
    current = state.current
    members = trial.cache.get("members") or trial.cache.setdefault("members", _select_members(state, trial))
    yield from (_build_authorization(current, each) for each in current.authorizations.values())
    for appeal in current.appeals.values():
        facts: dict[str, Any] = {
            "of": appeal.of,
            "status": appeal.status,
            "filed": appeal.filed,
            "decided": appeal.decided,
        }
        yield _build_row(appeal.id, "appeals", appeal.reason, facts, appeal)
    claims = {claim.number: claim for key in members for claim in current.list_claims(key)} | current.claims
    for claim in claims.values():
        facts = {"number": claim.number, "member": _name(current, claim.member_key), "status": claim.status}
        facts |= {"reason": claim.reason, "charge": claim.charge, "paid": claim.paid, "status date": claim.status_date}
        title = ", ".join(line.procedure_code for line in claim.lines) or claim.account or claim.number
        yield _build_row(claim.number, "claims", title, facts, claim)
    for key in dict.fromkeys((*members, *current.members)):
        member, used = current.get_member(key), current.get_accumulators(key)
        coverage = next(iter(member.coverages), None)
        facts = {"member id": member.member_id, "payer": member.payer_id}
        facts |= {"plan": coverage.plan_name, "from": coverage.start, "until": coverage.end} if coverage else {}
        facts |= used.model_dump(mode="json", exclude_defaults=True, exclude={"used"})
        yield _build_row(key, "eligibility", _name(current, key), facts, member, {"used": used.used})


def _build_authorization(current: PayerRecords, record: Authorization) -> StateRow:
    services = ", ".join(service.procedure_code for service in record.services or record.query.services)
    facts: dict[str, Any] = {
        "reference": record.id,
        "number": record.number,
        "member": _name(current, record.member_key),
    }
    facts |= {"service": services, "status": record.status.replace("_", " "), "reason": record.reason}
    facts |= {"requested": record.requested, "decided": record.decided, "decision due": record.decision_due}
    facts |= {"valid from": record.valid_from, "valid to": record.valid_to}
    return _build_row(record.id, "authorizations", f"{record.query.review}: {services}", facts, record)


def _build_row(
    key: str, group: str, title: str, facts: dict[str, Any], record: BaseModel, more: dict[str, Any] | None = None
) -> StateRow:
    known = {name: to_plain(each) for name, each in facts.items() if each}
    return StateRow(key, group, title, known, partial(_read, record, more))


def _read(record: BaseModel, more: dict[str, Any] | None) -> dict[str, Any]:
    return record.model_dump(mode="json") | (more or {})


def _name(current: PayerRecords, key: str) -> str:
    member = current.find_member(key)
    return " ".join((*member.given, member.family)) if member is not None else key


def _select_members(state: PayerState, trial: ViewedTrial) -> list[str]:
    """Return the keys of the members whom the task is about, or whom an event of the trial names."""
    patients = {f"{each.get('resourceType')}/{each.get('id')}" for each in trial.entities.values()}
    ids = set[tuple[str, str | None]]()
    for event in trial.events:
        if isinstance(event.payload, PayerEvent):
            ids.add((event.payload.payer_id, event.payload.member_id))
            patients.add(event.payload.patient or "")
    members = state.book.members.items()
    return [key for key, each in members if each.patient in patients or (each.payer_id, each.member_id) in ids]
