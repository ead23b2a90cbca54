"""The messages benchmark does the work that it measures, with small sizes."""

import pytest

from benchmarks.messages import CASES, FORMS, measure, measure_mail, measure_rates

pytestmark = pytest.mark.slow

SIZE = 20


@pytest.mark.parametrize("server", ["sandbox", "plain"])
def test_servers_take_messages_in_each_form(server: str) -> None:
    rates = measure_rates(server, 0.1, SIZE)
    assert rates.keys() == FORMS.keys()
    assert all(rate.load.requests >= 8 for rate in rates.values())


@pytest.mark.parametrize("server", ["mail", "plain_mail"])
def test_servers_take_mail(server: str) -> None:
    assert measure_mail(server, 0.1, SIZE).load.requests >= 8


@pytest.mark.parametrize("case", CASES)
def test_case_returns_figures(case: str) -> None:
    assert CASES[case](SIZE)


def test_case_is_measured_in_a_process_of_its_own() -> None:
    figures = measure("threads", SIZE)
    assert figures.keys() == {"opened", "listed", "kilobytes"}
    assert all(figure >= 0 for figure in figures.values())
