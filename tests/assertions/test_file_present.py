"""`file_present`: the right file is there at the end, with the right content."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.assertions.contract import Check
from clerkship.events.evidence import NoSuchSandbox
from clerkship.simulators.files.assertions.file_present import FilePresent
from tests.assertions.story import Story

FILES = {
    "out/a.json": b'{"mrn": "1", "status": "received", "lines": [{"code": 7}]}',
    "out/b.json": b'{"mrn": "2", "status": "late"}',
    "out/c.json": b"not json",
    "scan.bin": b"\xff\xfe",
    "letter.txt": b"Dear colleague,",
}


def check(args: Any) -> Check:
    """The check of one drop."""
    return FilePresent.model_validate(args).check(Story().holds("drop", FILES).evidence())


@pytest.mark.parametrize(
    "args",
    [
        "letter.txt",
        {"path": "out/*"},
        {"path": "*.json", "sandbox": "drop"},
        {"path": "letter.txt", "text": {"contains": "colleague"}},
        {"path": "letter.txt", "text": "Dear colleague,"},
        {"path": "scan.bin", "text": {"exists": True}},
        {"path": "out/*", "fields": [{"path": "mrn", "expected": "2"}, {"path": "status", "expected": "late"}]},
        {"path": "out/a.json", "fields": [{"path": "lines[0].code", "expected": {"gt": 6}}]},
        {"path": "out/b.json", "fields": [{"path": "lines", "expected": {"exists": False}}]},
        {"path": "out/*", "count": 3},
        {"path": "out/*", "count": {"lt": 4}},
        {"path": "out/*", "text": {"contains": "mrn"}, "count": 2},
        {"path": "in/*", "absent": True},
        {"path": "out/*", "text": {"contains": "nothing like it"}, "absent": True},
    ],
)
def test_a_file_as_expected_passes(args: Any) -> None:
    assert check(args).passed


@pytest.mark.parametrize(
    ("args", "detail"),
    [
        ("in/*", "files that fit in/*: none; there is letter.txt, out/a.json, out/b.json, out/c.json, scan.bin"),
        ({"path": "OUT/*"}, "files that fit OUT/*: none"),
        ({"path": "out/*", "count": 2}, "files that fit out/*: out/a.json, out/b.json, out/c.json (expected 2)"),
        ({"path": "letter.txt", "absent": True}, "files that fit letter.txt: letter.txt (expected 0)"),
        ({"path": "letter.txt", "text": "Dear"}, "letter.txt is there, but not as expected"),
        (
            {"path": "out/c.json", "fields": [{"path": "mrn", "expected": "1"}]},
            "out/c.json is there, but not as expected (it is not JSON)",
        ),
    ],
)
def test_a_failure_says_what_is_there(args: Any, detail: str) -> None:
    found = check(args)
    assert not found.passed
    assert found.detail.startswith(detail)


def test_the_best_file_is_compared_field_by_field_and_counts_in_part() -> None:
    fields = [
        {"path": "mrn", "expected": "1"},
        {"path": "status", "expected": "received"},
        {"path": "by", "expected": {"exists": True}},
    ]
    found = check({"path": "out/*", "fields": fields})
    assert not found.passed
    assert found.score == pytest.approx(2 / 3)
    assert found.detail == "out/a.json is there, but not as expected"
    assert [(row.path, row.expected, row.actual, row.passed) for row in found.evidence] == [
        ("mrn", "1", "1", True),
        ("status", "received", "received", True),
        ("by", {"exists": True}, "(absent)", False),
    ]


def test_a_drop_of_many_files_is_not_told_whole() -> None:
    files = {f"f{number:05}.txt": b"" for number in range(10_000)}
    found = FilePresent.model_validate("missing").check(Story().holds("drop", files).evidence())
    assert found.detail.endswith("f00009.txt and 9990 more (expected at least 1)")


def test_an_empty_drop_says_so() -> None:
    found = FilePresent.model_validate("x").check(Story().holds("drop", {}).evidence())
    assert "there is no file at all" in found.detail


@pytest.mark.parametrize(
    ("sandbox", "message"),
    [(None, "name the sandbox: there are 2"), ("chat", "no sandbox `chat` of this kind; there is drop, other")],
)
def test_a_drop_that_is_not_there_is_an_error_not_a_verdict(sandbox: str | None, message: str) -> None:
    story = Story().holds("drop", FILES).holds("other", {})
    with pytest.raises(NoSuchSandbox, match=message):
        FilePresent(path="x", sandbox=sandbox).check(story.evidence())


@pytest.mark.parametrize("args", [{}, "", {"path": "a", "absent": "yes"}, {"path": "a", "txt": "b"}])
def test_arguments_that_mean_nothing_are_refused(args: Any) -> None:
    with pytest.raises(ValidationError):
        FilePresent.model_validate(args)
