"""Ids that look random and are not."""

from clerkship.kit.ids import Ids


def test_whoever_throws_ids_away_gives_them_back() -> None:
    ids, other = Ids("seed"), Ids("seed")
    first = ids.new("file")
    mark = ids.mark()
    thrown = [ids.new("file"), ids.new("visit")]
    ids.restore(mark)
    assert [ids.new("file"), ids.new("visit")] == thrown
    assert other.new("file") == first
