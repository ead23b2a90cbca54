"""The cost of a request does not grow with the requests before it."""

from datetime import date, timedelta

import pytest

from clerkship.domains.payer.answer import AuthorizationAnswer
from tests.call_count import count_calls
from tests.domains.payer.clinic import PayerClinic, party, request


@pytest.mark.parametrize("delay", ["0s", "30d"])
def test_later_authorizations_cost_as_much_as_the_first(delay: str) -> None:
    clinic = PayerClinic(determinations=[{"status": "approved", "delay": delay}])

    def send(place: int) -> AuthorizationAnswer:
        day = date(2026, 3, 2) + timedelta(days=place)
        return clinic.payer.request_authorization(clinic.action, request("70551", start=day))

    def ask(number: str) -> AuthorizationAnswer:
        return clinic.payer.cancel_authorization(clinic.action, number, party())

    send(0)
    first = count_calls(lambda: send(1)), count_calls(lambda: ask("A1"))
    for place in range(2, 150):
        assert send(place).rejection is None
    later = count_calls(lambda: send(150)), count_calls(lambda: ask("A1"))
    assert later[0] < first[0] + 50
    assert later[1] < first[1] + 50
