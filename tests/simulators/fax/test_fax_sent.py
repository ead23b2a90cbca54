"""`fax_sent`: which faxes count, and which do not."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.sandbox.assertion import Check
from clerkship.simulators.fax.assertions.fax_sent import FaxWasSent
from clerkship.simulators.fax.events import FaxArrived, FaxRead
from clerkship.simulators.fax.records import FaxHeader, FaxPart, FaxStatus
from tests.simulators.fax.sent_log import CLINIC, OWN, SentLog

ARRIVED = FaxHeader(
    id="fax-in", direction="inbound", sender=CLINIC, to=OWN, parts=(FaxPart(name="", format="text", pages=("x",)),)
)


def check(log: SentLog, **fields: Any) -> Check:
    """Check a criterion on a log."""
    return FaxWasSent.model_validate(fields).check(log.evidence())


@pytest.mark.parametrize("number", ["+15550100300", "(555) 010-0300", ["+15550100999", "+1 555 010 0300"]])
def test_number_is_compared_in_any_notation(number: Any) -> None:
    log = SentLog()
    log.add_fax("Hello")
    assert check(log, to=number).passed
    assert check(log, to={"not": number}).passed is False
    assert check(log, to={"in": [number] if isinstance(number, str) else number}).passed


def test_fax_to_another_number_does_not_count() -> None:
    log = SentLog()
    log.add_fax("Hello", to="+15550100301")
    result = check(log, to=CLINIC)
    assert not result.passed
    assert result.detail.startswith(
        "fax of 1 page to +15550100301, delivered (#2) is there, but not as expected: to is"
    )


@pytest.mark.parametrize("status", ["busy", "no_answer", "failed", "partial", "queued", "sending", "retrying"])
def test_fax_that_was_not_delivered_does_not_count(status: FaxStatus) -> None:
    log = SentLog()
    log.add_fax("Hello", status=status)
    result = check(log, to=CLINIC)
    assert (result.passed, result.score) == (False, 0.0)
    assert ("did not wait" in result.detail) == (status in ("queued", "sending", "retrying"))
    assert check(log, to=CLINIC, status=status).passed


def test_busy_fax_that_is_sent_again_counts_once() -> None:
    log = SentLog()
    log.add_fax("Hello", status="busy")
    log.add_fax("Hello")
    assert check(log, to=CLINIC, count=1).passed
    log.add_fax("Hello")
    result = check(log, to=CLINIC, count=1)
    assert not result.passed
    assert "1 page to +15550100300, delivered" in result.detail


def test_fax_under_way_is_one_too_many_but_not_enough() -> None:
    log = SentLog()
    log.add_fax("Hello", status="retrying")
    assert not check(log, count=1).passed
    assert not check(log, count={"gte": 1}).passed
    log.add_fax("Hello")
    assert not check(log, count=1).passed
    assert check(log, count={"gte": 1}).passed


@pytest.mark.parametrize("status", ["delivered", "failed", "queued"])
def test_none_allows_no_attempt(status: FaxStatus) -> None:
    log = SentLog()
    log.add_fax("Hello", status=status)
    assert not check(log, none=True).passed
    assert check(log, none=True, to="+15550100999").passed


def test_nothing_sent_fails_and_passes_with_none() -> None:
    assert check(SentLog()).detail == "there is no sent fax"
    assert not check(SentLog()).passed
    assert check(SentLog(), none=True).passed
    assert FaxWasSent(none=True).passes_on_inaction
    assert not FaxWasSent(count=1).passes_on_inaction


def test_faxes_of_the_scenario_do_not_count() -> None:
    log = SentLog()
    log.add_fax("Hello", actor="scenario")
    assert check(log, none=True).passed


def test_pages_are_counted_over_all_documents() -> None:
    log = SentLog()
    log.add_documents({"cover.txt": ("Cover",), "notes.txt": ("One", "Two")})
    assert check(log, pages=3).passed
    assert check(log, pages={"lte": 5}).passed
    assert not check(log, pages=2).passed


@pytest.mark.parametrize(("expected", "passed"), [("fax-in", True), (CLINIC, True), ("fax-other", False), (OWN, False)])
def test_answer_is_matched_by_id_or_by_number_of_the_sender(expected: str, passed: bool) -> None:
    log = SentLog()
    log.add_event(FaxArrived(header=ARRIVED), source="line", actor="scenario")
    log.add_fax("Hello", in_reply_to="fax-in")
    assert check(log, in_reply_to=expected).passed is passed
    log = SentLog()
    log.add_fax("Hello")
    assert not check(log, in_reply_to=expected).passed


def test_fax_is_compared_with_the_time_of_an_event() -> None:
    log = SentLog()
    early = log.add_fax("Early")
    log.add_event(FaxRead(id=early, format="pdf"), source="line")
    assert check(log, before={"event": "fax.read"}).passed
    assert not check(log, after={"event": "fax.read"}).passed
    log.add_fax("Late")
    assert check(log, after={"event": "fax.read"}).passed
    assert check(log, before={"event": "fax.marked"}, count=2).passed
    assert not check(log, after={"event": "fax.marked"}).passed


def test_sandbox_selects_the_line() -> None:
    log = SentLog()
    log.add_fax("Hello")
    assert check(log, sandbox="line").passed
    assert not check(log, sandbox="other").passed


def test_count_and_none_do_not_go_together() -> None:
    with pytest.raises(ValidationError, match="`count` and `none` do not go together"):
        FaxWasSent(count=1, none=True)
