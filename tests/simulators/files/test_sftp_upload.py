"""Bytes that come in any order, against a plain array of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clerkship.simulators.files.patch import Patch
from clerkship.simulators.files.sftp.upload import MOST_PIECES, TooLarge, TooScattered, Upload, Uploads

WRITES = st.lists(st.tuples(st.integers(0, 60), st.binary(max_size=20)), max_size=30)


def opened(base: int | None = None, *, most: int = 1000, room: int = 1000, append: bool = False) -> Upload:
    """One that nothing else goes on beside."""
    return Upload("a", most, room, Uploads(), base, append)


def lay(data: bytearray, offset: int, part: bytes) -> None:
    """As a file system does it."""
    if part:
        data.extend(bytes(max(0, offset - len(data))))
        data[offset : offset + len(part)] = part


@given(WRITES, st.one_of(st.none(), st.integers(0, 90)))
def test_whatever_order_they_come_in(writes: list[tuple[int, bytes]], cut: int | None) -> None:
    upload, plain = opened(), bytearray()
    for offset, part in writes:
        upload.write(offset, part)
        lay(plain, offset, part)
    if cut is not None:
        upload.truncate(cut)
        plain = plain[:cut] + bytes(max(0, cut - len(plain)))
    assert upload.whole() == upload.read(0, 1000) == plain
    assert upload.read(7, 11) == plain[7:18]
    assert upload.size == len(plain)
    assert upload.among.held == sum(len(piece) for _, piece in upload.parts()) <= len(plain)
    upload.release()
    assert upload.among == Uploads()


@given(st.binary(max_size=50), WRITES, st.one_of(st.none(), st.integers(0, 60)))
def test_over_a_file_that_is_there(base: bytes, writes: list[tuple[int, bytes]], cut: int | None) -> None:
    """The sandbox lays the parts over what it has: the session never reads that."""
    upload, plain = opened(len(base)), bytearray(base)
    if cut is not None:
        upload.truncate(cut)
        plain = plain[:cut] + bytes(max(0, cut - len(plain)))
    for offset, part in writes:
        upload.write(offset, part)
        lay(plain, offset, part)
    parts = upload.parts()
    patch = Patch(upload.kept, tuple((start, len(piece)) for start, piece in parts))
    assert patch.lay(base[: upload.kept], b"".join(piece for _, piece in parts)) == plain


@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(0, 30))
def test_what_is_appended_goes_to_the_end(parts: list[bytes], base: int) -> None:
    upload = opened(base, append=True)
    for part in parts:
        upload.write(3, part)
    assert upload.size == base + sum(map(len, parts))
    assert all(start >= base for start, _ in upload.parts())


def test_of_too_much_nothing_is_taken() -> None:
    upload = opened(most=100)
    upload.write(0, bytes(90))
    with pytest.raises(TooLarge) as large:
        upload.write(90, bytes(11))
    assert (large.value.size, upload.size, upload.among.held) == (101, 90, 90)
    with pytest.raises(TooLarge):
        upload.truncate(101)
    assert (upload.size, upload.among.held) == (90, 90)
    upload.release()
    assert (upload.among, upload.pieces) == (Uploads(), [])


def test_all_on_their_way_share_the_room() -> None:
    among = Uploads()
    one, two = (Upload(path, 100, 100, among) for path in "ab")
    one.write(0, bytes(60))
    with pytest.raises(TooLarge):
        two.write(0, bytes(41))
    one.write(60, bytes(40))
    assert among.held == 100


def test_a_file_far_away_costs_no_more_than_its_bytes() -> None:
    upload = opened(most=10**12, room=10**12)
    upload.write(10**11, b"x")
    assert (upload.size, upload.among.held) == (10**11 + 1, 1)
    upload.truncate(10**11 - 5)
    assert (upload.size, upload.among.held) == (10**11 - 5, 1)
    upload.truncate(0)
    assert (upload.size, upload.among.held) == (0, 0)


def test_pieces_backwards_are_counted_not_moved() -> None:
    upload = opened(most=10**9, room=10**9)
    for number in range(MOST_PIECES):
        upload.write(10**6 - number, b"x")
    with pytest.raises(TooScattered):
        upload.write(0, b"x")
