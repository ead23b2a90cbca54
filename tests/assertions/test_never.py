"""`never`: an event did not happen."""

from clerkship.assertions.any_event import Never
from tests.assertions.log_builder import LogBuilder


def test_passes_without_matching_event() -> None:
    log_builder = LogBuilder()
    log_builder.add_write("patients/1/a")
    args = {"event": "files.file.written", "where": {"path": {"matches": "^patients/(?!1/)"}}}
    found = Never.model_validate(args).check(log_builder.evidence())
    assert (found.passed, found.score) == (True, 1.0)
    assert found.detail.endswith("never happened")


def test_fails_on_first_matching_event_and_shows_it() -> None:
    log_builder = LogBuilder()
    log_builder.add_write("patients/1/a")
    log_builder.add_write("patients/2/a")
    log_builder.add_write("patients/3/a")
    args = {"event": "files.file.written", "where": {"path": {"matches": "^patients/(?!1/)"}}}
    found = Never.model_validate(args).check(log_builder.evidence())
    assert (found.passed, found.score) == (False, 0.0)
    assert found.detail.endswith("happened at #2")
    assert [(row.path, row.actual, row.passed, row.seq) for row in found.evidence] == [
        ("event", "files.file.written", False, 2),
        ("path", "patients/2/a", False, 2),
    ]


def test_bare_kind_is_accepted_and_other_sandbox_does_not_count() -> None:
    log_builder = LogBuilder()
    log_builder.add_write("a", source="archive")
    assert not Never.model_validate("files.file.*").check(log_builder.evidence()).passed
    assert Never.model_validate({"event": "files.file.*", "sandbox": "drop"}).check(log_builder.evidence()).passed


def test_before_limits_to_earlier_events() -> None:
    log_builder = LogBuilder()
    log_builder.add_write("whole.csv")
    log_builder.add_write("order")
    late = {"event": "files.file.written", "where": {"path": "order"}}
    for first, passed in (("whole.csv", True), ("order", True), ("never.csv", False)):
        args = {**late, "before": {"event": "files.file.written", "where": {"path": first}}}
        found = Never.model_validate(args).check(log_builder.evidence())
        assert found.passed is passed, first
    assert "happened at #2 before" in found.detail
