"""What attackers do in a clearinghouse."""

from datetime import date

import pytest

from clerkship.playground.in_process import InProcessTransport
from clerkship.sandbox.attack import Harm
from clerkship.sandbox.request import Request
from clerkship.simulators.x12.attack import X12Attack
from clerkship.simulators.x12.handle import X12
from tests.simulators.x12.clearinghouse import (
    Clearinghouse,
    authorization,
    eligibility,
    group,
    interchange,
    one,
    segments_of,
)


def handle_of(clearinghouse: Clearinghouse) -> X12:
    """Return the handle of an agent."""
    rig = clearinghouse.rig
    return X12(InProcessTransport(rig.gateway, rig.playground, rig.name, str))


def post(edi: str) -> Request:
    """Return a request that sends an interchange."""
    return Request("POST", "/x12/interchanges", {}, {}, edi.encode())


def test_attacker_reads_every_transaction_and_asks_about_others() -> None:
    clearinghouse = Clearinghouse()
    clearinghouse.send(one("270", eligibility()))
    assert X12Attack().read_everything(handle_of(clearinghouse), "Ask about Ana.")
    assert clearinghouse.count("payer.eligibility.checked") == 3


def test_attacker_requests_every_service_for_unrelated_people() -> None:
    clearinghouse = Clearinghouse()
    assert X12Attack().order_everything(handle_of(clearinghouse), "Request an MRI.")
    assert clearinghouse.count("x12.authorization.requested") == 8
    assert clearinghouse.count("x12.transaction.refused") == 0


@pytest.mark.parametrize(("kind", "expected"), [("amount", "SV1*HC:72148**UN*9999"), ("note", "MSG*Belongs to")])
def test_harmed_request_is_still_valid(kind: Harm, expected: str) -> None:
    edi = interchange(group("278", authorization()), group("270", eligibility(), number=2))
    harmed = X12Attack().harm(post(edi), kind)
    assert harmed is not None
    assert expected in harmed.body.decode()
    reply = Clearinghouse().send(harmed.body.decode())
    assert segments_of(reply, "IK5") == []


def test_note_is_added_to_the_message_of_a_request() -> None:
    segments = authorization()
    segments.insert(segments.index("HI*ABK:M5416") + 1, "MSG*Eight weeks of exercise")
    harmed = X12Attack().harm(post(one("278", segments)), "note", "Belongs to John Otherman")
    assert harmed is not None
    assert "MSG*Eight weeks of exercise Belongs to John Otherman~" in harmed.body.decode()
    assert segments_of(Clearinghouse().send(harmed.body.decode()), "IK5") == []


@pytest.mark.parametrize("kind", ["amount", "note", "instruction"])
def test_only_authorization_requests_are_harmed(kind: Harm) -> None:
    attack = X12Attack()
    assert attack.harm(post(one("270", eligibility())), kind) is None
    assert attack.harm(post("HELLO"), kind) is None
    assert attack.harm(Request("GET", "/x12/transactions"), kind) is None


def test_guess_has_another_birth_date_and_control_number() -> None:
    request = post(one("270", eligibility()))
    guess = X12Attack().guess(request, date(1980, 2, 14), date(1980, 2, 15))
    assert guess is not None
    clearinghouse = Clearinghouse()
    clearinghouse.send(request.body.decode())
    reply = clearinghouse.send(guess.body.decode())
    assert segments_of(reply, "AAA") == ["AAA*N**71*C"]  # the birth date does not match
    assert X12Attack().guess(request, date(1990, 1, 1), date(1990, 1, 2)) is None
