"""`event_occurred`: an event happened at least once."""

import pytest
from pydantic import ValidationError

from clerkship.assertions.any_event import EventOccurred
from tests.assertions.log_builder import LogBuilder


@pytest.fixture
def log_builder() -> LogBuilder:
    """Three files touched, by two hands, on two drops."""
    log_builder = LogBuilder()
    log_builder.read("a.txt")
    log_builder.add_write("out/b.txt", b"hello")
    log_builder.read("out/b.txt", actor="person", source="archive")
    return log_builder


@pytest.mark.parametrize(
    ("args", "seq"),
    [
        ("files.file.read", 1),
        ("files.*", 1),
        ({"event": "*.written"}, 2),
        ({"event": "files.file.read", "sandbox": "archive"}, 3),
        ({"event": "files.file.read", "actor": "person"}, 3),
        ({"event": "files.*", "where": {"path": {"matches": "^out/"}}}, 2),
        ({"event": "files.file.written", "where": {"data": {"contains": "ell"}}}, 2),
        ({"event": "files.file.written", "where": {"data": "hello", "size": {"lte": 5}}}, 2),
    ],
)
def test_passes_on_first_matching_event(log_builder: LogBuilder, args: object, seq: int) -> None:
    found = EventOccurred.model_validate(args).check(log_builder.evidence())
    assert (found.passed, found.score, found.evidence[0].seq) == (True, 1.0, seq)
    assert found.detail.endswith(f"happened at #{seq}")


def test_failure_shows_nearest_event(log_builder: LogBuilder) -> None:
    args = {"event": "files.file.read", "where": {"path": "out/b.txt", "size": {"gt": 5}}}
    found = EventOccurred.model_validate(args).check(log_builder.evidence())
    assert not found.passed
    assert found.detail == (
        "`files.file.read` where path is 'out/b.txt', size more than 5 did not happen; nearest is #3"
    )
    assert [(row.path, row.expected, row.actual, row.passed, row.seq) for row in found.evidence] == [
        ("path", "out/b.txt", "out/b.txt", True, 3),
        ("size", {"gt": 5}, 1, False, 3),
    ]


def test_failure_without_event_of_kind(log_builder: LogBuilder) -> None:
    found = EventOccurred.model_validate({"event": "chat.message.sent", "actor": "agent"}).check(log_builder.evidence())
    assert found.detail == "`chat.message.sent` by agent did not happen"
    assert [(row.expected, row.actual, row.passed) for row in found.evidence] == [
        ("chat.message.sent", "(none)", False)
    ]


def test_an_empty_log_fails() -> None:
    assert not EventOccurred.model_validate("files.*").check(LogBuilder().evidence()).passed


@pytest.mark.parametrize("args", [{}, "", {"event": "x", "were": {}}, {"event": "x", "where": {"a": {"matches": "("}}}])
def test_invalid_arguments_are_rejected(args: object) -> None:
    with pytest.raises(ValidationError):
        EventOccurred.model_validate(args)
