"""The table of connections: capacity, eviction, limits per sandbox, and held bytes."""

from dataclasses import dataclass, field

import pytest

from clerkship.transports import limits as limits_module
from clerkship.transports.limits import ConnectionLimits, ConnectionTable


@dataclass(eq=False)
class FakeConnection:
    """The part of a connection that the table uses."""

    is_evictable: bool = True
    progress: int = 0
    dropped: list[bool] = field(default_factory=list)

    def drop(self) -> None:
        self.dropped.append(True)

    leave = drop

    async def end(self) -> None:
        self.drop()

    def sweep(self, now: float) -> None:
        """Do nothing."""


def build_table(connections: int, **limits: int) -> ConnectionTable:
    return ConnectionTable(ConnectionLimits(connections=connections, **limits), max_connections=10_000)


def test_least_recently_used_connection_without_a_sandbox_is_evicted_first() -> None:
    table = build_table(3)
    first, second, third = FakeConnection(), FakeConnection(), FakeConnection()
    assert all(table.enter(peer) for peer in (first, second, third))
    assert table.claim(first, "a")
    table.touch(second)
    assert table.enter(FakeConnection())
    assert [bool(peer.dropped) for peer in (first, second, third)] == [False, False, True]
    assert len(table) == 3


def test_connection_with_the_least_progress_is_evicted_before_older_ones() -> None:
    table = build_table(3)
    peers = [FakeConnection(progress=2), FakeConnection(progress=1), FakeConnection(progress=1)]
    assert all(table.enter(peer) for peer in peers)
    assert table.enter(FakeConnection(progress=2))
    assert [bool(peer.dropped) for peer in peers] == [False, True, False]


def test_sandbox_with_the_most_connections_loses_one() -> None:
    table = build_table(3)
    peers = [FakeConnection(), FakeConnection(), FakeConnection()]
    for peer, sandbox in zip(peers, "abb", strict=True):
        assert table.enter(peer)
        assert table.claim(peer, sandbox)
    assert table.claim(peers[1], "b")  # used again
    assert table.enter(FakeConnection())
    assert [bool(peer.dropped) for peer in peers] == [False, False, True]


def test_connection_is_refused_if_no_other_can_be_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "MAX_REFUSED", 1)
    table, refused = build_table(1), FakeConnection()
    assert table.enter(FakeConnection(is_evictable=False))
    assert not table.enter(refused)
    assert table.refuse(refused)
    assert not table.refuse(FakeConnection()), "there is no time to tell the second one why"
    assert (len(table), len(list(table))) == (1, 2)
    table.leave(refused)
    assert table.refuse(FakeConnection())


def test_connections_per_sandbox_are_limited() -> None:
    table = build_table(10, per_sandbox=1)
    first, second = FakeConnection(is_evictable=False), FakeConnection()
    assert table.enter(first)
    assert table.enter(second)
    assert table.claim(first, "a")
    assert not table.claim(second, "a")
    assert table.claim(second, "b")
    table.leave(first)
    third = FakeConnection()
    assert table.enter(third)
    assert table.claim(third, "b"), "the idle connection of `b` makes room"
    assert second.dropped


def test_held_bytes_are_limited_in_total_and_per_sandbox() -> None:
    table = build_table(10, held=100, held_per_sandbox=60)
    first, second = FakeConnection(), FakeConnection()
    assert table.hold(first, "a", 60)
    assert not table.hold(second, "a", 1)
    assert table.hold(second, "b", 40)
    assert not table.hold(second, "b", 41)
    table.leave(first)
    table.leave(second)
    assert (table.held, table._held, table._holding) == (0, {}, {})


def test_connections_are_limited_by_the_open_files_of_the_process() -> None:
    assert ConnectionTable(ConnectionLimits(connections=5), max_connections=3).max_connections == 3
    assert ConnectionTable(ConnectionLimits(connections=5), max_connections=8).max_connections == 5
