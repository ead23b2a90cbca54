"""Which records an event of the payer portal is about, and whose they are."""

from collections.abc import Iterator
from typing import Any

from clerkship.events.evidence import Evidence
from clerkship.payer.answer import Member
from clerkship.payer.records import PayerRecords
from clerkship.payer.state import PayerState
from clerkship.simulators.portal.state import PortalState

_FIELDS = {
    "reference": "request",
    "appeal": "appeal",
    "member_key": "member",
    "draft": "draft",
}
"""Fields of events that hold the id of a record, and its kind."""
_IDS = {
    "portal.draft.deleted": "draft",
    "portal.document.removed": "document",
    "portal.letter.opened": "letter",
}
"""Events whose field `id` is that of a record."""


def list_event_records(event: Any) -> tuple[str, ...]:
    """Return the records that an event is about, such as `request/R123456789` or `member/CM002/CM974622051/0`."""
    payload = event.payload
    records = list(getattr(payload, "records", ()))
    for name, kind in _FIELDS.items():
        value = getattr(payload, name, None)
        id = value if isinstance(value, str) else getattr(value, "id", "")
        records += [f"{kind}/{id}"] if id else []
    if event.kind in _IDS or hasattr(payload, "what"):
        records.append(f"{_IDS.get(event.kind) or payload.what}/{payload.id}")
    documents = getattr(payload, "documents", ())
    if hasattr(payload, "document"):
        documents = (payload.document.id,)
    return tuple(dict.fromkeys([*records, *(f"document/{id}" for id in documents)]))


class RecordOwners:
    """Finds the members whom records of payers and payer portals are about. Use it with `evidence.cached`."""

    def __init__(self, evidence: Evidence) -> None:
        states = evidence.states.values()
        self._payers: list[PayerRecords] = [state.current for state in states if isinstance(state, PayerState)]
        self._portals = [state for state in states if isinstance(state, PortalState)]

    def find_member(self, record: str) -> Member | None:
        """Return the member whom a record is about; None if it is about none, or gone."""
        key = self._find_key(*record.split("/", 1))
        return next(filter(None, (payer.find_member(key) for payer in self._payers)), None) if key else None

    def list_patients(self, records: tuple[str, ...]) -> list[str]:
        """Return the patients of the chart whom records are about, each once."""
        members = map(self.find_member, records)
        return list(dict.fromkeys(each.patient for each in members if each is not None and each.patient))

    def _find_key(self, kind: str, id: str) -> str:
        if kind == "member":
            return id
        if kind in ("request", "claim"):
            return self._find_payer_key(id)
        if kind == "appeal":
            appeals = (payer.appeals.get(id) for payer in self._payers)
            return next((self._find_payer_key(each.of) for each in appeals if each is not None), "")
        if kind == "letter":
            letters = (portal.letters.get(id) for portal in self._portals)
            return next((self._find_payer_key(each.reference) for each in letters if each is not None), "")
        if kind == "draft":
            return next(filter(None, (self._find_draft_key(portal, id) for portal in self._portals)), "")
        return next(self._list_document_keys(id), "") if kind == "document" else ""

    def _find_payer_key(self, number: str) -> str:
        for payer in self._payers if number else ():
            record = payer.find_authorization(number) or payer.find_claim(number)
            if record is not None:
                return record.member_key
        return ""

    def _find_draft_key(self, portal: PortalState, id: str) -> str:
        draft = portal.drafts.get(id)
        if draft is not None:
            return portal.members.get(draft.member, "")
        return self._find_payer_key(portal.filed.get(id, ""))

    def _list_document_keys(self, id: str) -> Iterator[str]:
        """Yield the member of each request, appeal or draft that has a document."""
        for payer in self._payers:
            requests = payer.authorizations.values()
            yield from (each.member_key for each in requests if id in each.query.attachments)
            yield from (self._find_payer_key(each.of) for each in payer.appeals.values() if id in each.attachments)
        for portal in self._portals:
            drafts = (each for each in portal.drafts.values() if id in each.documents)
            yield from (portal.members.get(each.member, "") for each in drafts)
