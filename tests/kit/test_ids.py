"""Ids derived from a seed."""

from clerkship.kit.rng import Ids


def test_restored_counts_issue_the_same_ids_again() -> None:
    ids, other = Ids("seed"), Ids("seed")
    first = ids.new("file")
    mark = ids.mark()
    thrown = [ids.new("file"), ids.new("visit")]
    ids.restore(mark)
    assert [ids.new("file"), ids.new("visit")] == thrown
    assert other.new("file") == first
