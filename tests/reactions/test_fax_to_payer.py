"""Records that are faxed to a payer are filed with the request whose number they have."""

from datetime import timedelta
from typing import Any

import pytest

from clerkship.payer.answer import Authorization
from clerkship.payer.scenario_changes import RecordedAuthorization
from clerkship.simulators.fax.handle import Fax
from tests.payer.office import CLINIC_NPI, Office

RECORDS, OTHER = "+15550177101", "+15550177199"
MEMBER = "CM002/CM335424068/0"
FAX_LINE = {
    "kind": "fax",
    "config": {"contacts": [{"name": "Records", "number": RECORDS}, {"name": "X", "number": OTHER}]},
}
ASK_FOR_RECORDS = {
    "status": "need_more_info",
    "questions": [{"id": "records", "type": "attachment", "text": "Fax the records."}],
    "then": [{"status": "approved"}],
}


class FaxingOffice(Office):
    """A practice that can fax records to a payer."""

    def __init__(self) -> None:
        payers = {"CM002": {"fax_numbers": [RECORDS]}}
        super().__init__(
            simulators={"line": FAX_LINE},
            reactions=["line.status_changed -> payer"],
            payers=payers,
            determinations=[ASK_FOR_RECORDS],
        )
        self.fax = self.sandboxes.get_as(Fax)
        for reference in ("R100000001", "R100000002"):
            self.record(reference)

    def record(self, reference: str, **fields: Any) -> None:
        """Record a request of an earlier day."""
        payer, action = self.payer
        written = {
            "reference": reference,
            "provider_id": CLINIC_NPI,
            "status": "pending",
            "services": [{"procedure_code": "72148", "start": f"2026-03-1{reference[-1]}"}],
            **fields,
        }
        payer.set_authorization(action, payer.current.get_member(MEMBER), RecordedAuthorization.model_validate(written))

    def send(self, text: str = "The record.", to: str = RECORDS, **fields: Any) -> str:
        """Send a fax, and wait until it is delivered; return its id."""
        id: str = self.fax.send(to, text=text, **fields)["id"]
        self.playground.advance(timedelta(minutes=10))
        return id

    def find(self, reference: str) -> Authorization:
        return self.payer[0].current.authorizations[reference]

    @property
    def unmatched(self) -> list[tuple[str, ...]]:
        log = self.playground.log.events
        return [event.payload.references for event in log if event.kind == "payer.fax.unmatched"]  # type: ignore[attr-defined]


def test_fax_with_the_reference_number_is_filed_and_the_request_is_decided() -> None:
    office = FaxingOffice()
    id = office.send(cover={"subject": "Reference R100000002"})
    request = office.find("R100000002")
    assert (request.status, request.query.attachments) == ("approved", (id,))
    assert office.find("R100000001").status == "pending"
    [filed] = [event for event in office.playground.log.events if event.kind == "payer.authorization.updated"]
    assert filed.actor == "reaction"


@pytest.mark.parametrize("written", ["R 100 000 002", "r100000002", "Ref.: R100000002.", "(R-100-000-002)"])
def test_number_is_read_in_other_notations_or_not_at_all(written: str) -> None:
    office = FaxingOffice()
    office.send(f"To whom it may concern\n{written}")
    is_one_word = "R100000002" in written.upper()
    assert (office.find("R100000002").status == "approved") == is_one_word
    assert len(office.unmatched) == (not is_one_word)


def test_fax_without_a_number_or_with_several_is_filed_with_none() -> None:
    office = FaxingOffice()
    office.send("The record of M. Blackwood.")
    office.send("R100000001 and R100000002")
    assert office.unmatched == [(), ("R100000001", "R100000002")]
    assert {office.find(each).status for each in ("R100000001", "R100000002")} == {"pending"}


def test_number_is_looked_for_on_the_first_three_pages() -> None:
    office = FaxingOffice()
    office.send("\f".join(["a", "b", "c", "R100000002"]))
    assert office.unmatched == [()]
    office.send("\f".join(["a", "b", "R100000002", "R100000001"]))
    assert office.find("R100000002").status == "approved"


def test_fax_to_another_number_does_not_reach_the_payer() -> None:
    office = FaxingOffice()
    office.send("R100000002", to=OTHER)
    assert office.find("R100000002").status == "pending"
    assert office.unmatched == []


def test_fax_about_a_request_that_is_denied_is_rejected() -> None:
    office = FaxingOffice()
    office.record("R100000003", status="denied", reason="not_medically_necessary")
    office.send("R100000003")
    assert office.find("R100000003").status == "denied"
    [rejected] = [event for event in office.playground.log.events if event.kind == "payer.authorization.rejected"]
    assert rejected.payload.rejection == "authorization_closed"  # type: ignore[attr-defined]
