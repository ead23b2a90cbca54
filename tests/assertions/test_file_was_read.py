"""`file_was_read`: the agent read a file, at any time."""

import pytest

from clerkship.simulators.files.assertions.file_was_read import FileWasRead
from tests.assertions.story import Story


@pytest.fixture
def story() -> Story:
    """Two files read by the agent, one by somebody else, one only written."""
    story = Story()
    story.read("inbox/a-K.csv")
    story.read("inbox/secret.txt", actor="person")
    story.wrote("inbox/b.txt")
    story.read("hours.json", source="archive")
    return story


@pytest.mark.parametrize(
    ("args", "seq"),
    [("inbox/a-K.csv", 1), ("inbox/*-K.csv", 1), ({"path": "*", "sandbox": "archive"}, 4), ("hours.json", 4)],
)
def test_a_read_by_the_agent_passes(story: Story, args: object, seq: int) -> None:
    found = FileWasRead.model_validate(args).check(story.evidence())
    assert (found.passed, found.evidence[0].seq) == (True, seq)


@pytest.mark.parametrize(
    "args", ["inbox/secret.txt", "inbox/b.txt", {"path": "hours.json", "sandbox": "drop"}, "INBOX/*", "inbox"]
)
def test_reads_of_others_writes_and_other_places_do_not_count(story: Story, args: object) -> None:
    found = FileWasRead.model_validate(args).check(story.evidence())
    assert (found.passed, found.score) == (False, 0.0)


def test_a_failure_shows_what_was_read(story: Story) -> None:
    found = FileWasRead.model_validate("x").check(story.evidence())
    assert found.detail == "the agent read hours.json, inbox/a-K.csv"
    assert found.evidence[0].actual == ["hours.json", "inbox/a-K.csv"]
    assert FileWasRead.model_validate("x").check(Story().evidence()).detail == "the agent read no file"


def test_a_failure_does_not_list_thousands() -> None:
    story = Story()
    for number in range(3000):
        story.read(f"f{number:05}")
    found = FileWasRead.model_validate("x").check(story.evidence())
    assert found.detail.endswith("f00009 and 2990 more")
    assert len(found.evidence[0].actual) == 10
