"""`file_was_read`: the agent read a file, at any time."""

import pytest
from pydantic import ValidationError

from clerkship.simulators.files.assertions.file_was_read import FileWasRead
from tests.assertions.log_builder import LogBuilder


@pytest.fixture
def log_builder() -> LogBuilder:
    """Two files read by the agent, one by somebody else, one only written."""
    log_builder = LogBuilder()
    log_builder.read("inbox/a-K.csv")
    log_builder.read("inbox/secret.txt", actor="person")
    log_builder.add_write("inbox/b.txt")
    log_builder.read("hours.json", source="archive")
    return log_builder


@pytest.mark.parametrize(
    ("args", "seq"),
    [("inbox/a-K.csv", 1), ("inbox/*-K.csv", 1), ({"path": "*", "sandbox": "archive"}, 4), ("hours.json", 4)],
)
def test_read_by_agent_passes(log_builder: LogBuilder, args: object, seq: int) -> None:
    found = FileWasRead.model_validate(args).check(log_builder.evidence())
    assert (found.passed, found.evidence[0].seq) == (True, seq)


@pytest.mark.parametrize(
    "args", ["inbox/secret.txt", "inbox/b.txt", {"path": "hours.json", "sandbox": "drop"}, "INBOX/*", "inbox"]
)
def test_other_actors_writes_and_paths_do_not_count(log_builder: LogBuilder, args: object) -> None:
    found = FileWasRead.model_validate(args).check(log_builder.evidence())
    assert (found.passed, found.score) == (False, 0.0)


def test_failure_lists_files_that_were_read(log_builder: LogBuilder) -> None:
    found = FileWasRead.model_validate("x").check(log_builder.evidence())
    assert found.detail == "there is no read of x; the agent read hours.json, inbox/a-K.csv"
    assert FileWasRead.model_validate("x").check(LogBuilder().evidence()).detail.endswith("the agent read no file")


@pytest.mark.parametrize(
    ("args", "passed", "detail"),
    [
        ({"path": "inbox/*", "count": 1}, True, "read of inbox/*: read of inbox/a-K.csv (#1) (expected 1)"),
        (
            {"path": "*", "count": {"gte": 2}},
            True,
            "read of *: read of inbox/a-K.csv (#1), read of hours.json (#4) (expected at least 2)",
        ),
        ({"path": "inbox/secret.txt", "none": True}, True, "read of inbox/secret.txt: none (expected 0)"),
        ({"path": "inbox/*", "none": True}, False, "read of inbox/*: read of inbox/a-K.csv (#1) (expected 0)"),
        (
            {"path": "inbox/a*", "count": 2},
            False,
            "read of inbox/a*: read of inbox/a-K.csv (#1) (expected 2)",
        ),
    ],
)
def test_count_is_compared(log_builder: LogBuilder, args: object, passed: bool, detail: str) -> None:
    found = FileWasRead.model_validate(args).check(log_builder.evidence())
    assert (found.passed, found.detail.partition("; ")[0]) == (passed, detail)


def test_count_with_none_is_rejected() -> None:
    with pytest.raises(ValidationError, match="do not go together"):
        FileWasRead.model_validate({"path": "a", "none": True, "count": 1})


def test_failure_with_many_files_lists_only_some() -> None:
    log_builder = LogBuilder()
    for number in range(3000):
        log_builder.read(f"f{number:05}")
    found = FileWasRead.model_validate("x").check(log_builder.evidence())
    assert found.detail.endswith("f00009 and 2990 more")
