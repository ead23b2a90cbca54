"""The messages benchmark does the work that it measures, with small sizes."""

import pytest

from benchmarks.messages import CASES, FORMS, measure, measure_mail, measure_rate


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("server", ["sandbox", "plain"])
def test_servers_take_messages_in_each_form(server: str, form: str) -> None:
    assert measure_rate(server, form, 0.1, 20).load.requests >= 8


@pytest.mark.parametrize("server", ["mail", "plain_mail"])
def test_servers_take_mail(server: str) -> None:
    assert measure_mail(server, 0.1, 20).load.requests >= 8


@pytest.mark.parametrize("case", CASES)
def test_case_returns_figures(case: str) -> None:
    figures = measure(case, 20)
    assert figures
    assert all(figure >= 0 for figure in figures.values())
