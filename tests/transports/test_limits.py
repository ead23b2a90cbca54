"""The table of connections: places, eviction, caps per sandbox, and bytes held."""

from dataclasses import dataclass, field

import pytest

from clerkship.transports import limits as limits_module
from clerkship.transports.limits import ConnectionLimits, ConnectionTable


@dataclass(eq=False)
class Peer:
    """A connection of which only the table's view exists."""

    is_evictable: bool = True
    progress: int = 0
    dropped: list[bool] = field(default_factory=list)

    def drop(self) -> None:
        """Note it."""
        self.dropped.append(True)

    leave = drop

    async def end(self) -> None:
        """Note it."""
        self.drop()

    def sweep(self, now: float) -> None:
        """Take as long as it likes."""


def table_of(most: int, **limits: int) -> ConnectionTable:
    return ConnectionTable(ConnectionLimits(connections=most, **limits), most=10_000)


def test_the_least_recently_used_connection_without_a_sandbox_is_evicted_first() -> None:
    table = table_of(3)
    first, second, third = Peer(), Peer(), Peer()
    assert all(table.enter(peer) for peer in (first, second, third))
    assert table.claim(first, "a")
    table.touch(second)
    assert table.enter(Peer())
    assert [bool(peer.dropped) for peer in (first, second, third)] == [False, False, True]
    assert len(table) == 3


def test_the_connection_with_the_least_progress_is_evicted_before_older_ones() -> None:
    table = table_of(3)
    peers = [Peer(progress=2), Peer(progress=1), Peer(progress=1)]
    assert all(table.enter(peer) for peer in peers)
    assert table.enter(Peer(progress=2))
    assert [bool(peer.dropped) for peer in peers] == [False, True, False]


def test_of_claimed_connections_the_sandbox_with_the_most_loses_one() -> None:
    table = table_of(3)
    peers = [Peer(), Peer(), Peer()]
    for peer, sandbox in zip(peers, "abb", strict=True):
        assert table.enter(peer)
        assert table.claim(peer, sandbox)
    assert table.claim(peers[1], "b")  # used again
    assert table.enter(Peer())
    assert [bool(peer.dropped) for peer in peers] == [False, False, True]


def test_a_connection_is_refused_if_all_places_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "MAX_REFUSED", 1)
    table, refused = table_of(1), Peer()
    assert table.enter(Peer(is_evictable=False))
    assert not table.enter(refused)
    assert table.refuse(refused)
    assert not table.refuse(Peer()), "there is no time to tell the second one why"
    assert (len(table), len(list(table))) == (1, 2)
    table.leave(refused)
    assert table.refuse(Peer())


def test_a_sandbox_has_at_most_its_share_of_connections() -> None:
    table = table_of(10, per_sandbox=1)
    first, second = Peer(is_evictable=False), Peer()
    assert table.enter(first)
    assert table.enter(second)
    assert table.claim(first, "a")
    assert not table.claim(second, "a")
    assert table.claim(second, "b")
    table.leave(first)
    third = Peer()
    assert table.enter(third)
    assert table.claim(third, "b"), "the idle connection of `b` makes room"
    assert second.dropped


def test_held_bytes_are_limited_in_all_and_per_sandbox() -> None:
    table = table_of(10, held=100, held_per_sandbox=60)
    first, second = Peer(), Peer()
    assert table.hold(first, "a", 60)
    assert not table.hold(second, "a", 1)
    assert table.hold(second, "b", 40)
    assert not table.hold(second, "b", 41)
    table.leave(first)
    table.leave(second)
    assert (table.held, table._held, table._holding) == (0, {}, {})


def test_there_are_no_more_places_than_the_process_may_open_files() -> None:
    assert ConnectionTable(ConnectionLimits(connections=5), most=3).most == 3
    assert ConnectionTable(ConnectionLimits(connections=5), most=8).most == 5
