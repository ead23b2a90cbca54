"""The cost of a request does not grow with the requests before it."""

from datetime import date, timedelta

import pytest

from clerkship.payer.answer import AuthorizationAnswer
from tests.call_count import count_calls, measure_alone
from tests.choices import mark_slow_after
from tests.payer.clinic import PayerClinic, party, request


def count_first_and_later(delay: str) -> list[int]:
    """Return the calls of a request and a cancellation, as the first ones and after 150 others."""
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
    return [*first, *later]


@pytest.mark.parametrize("delay", mark_slow_after(1, ["30d", "0s"]))
def test_later_authorizations_cost_as_much_as_the_first(delay: str) -> None:
    request, cancellation, later_request, later_cancellation = measure_alone(count_first_and_later, delay)
    assert later_request < request + 50
    assert later_cancellation < cancellation + 50
