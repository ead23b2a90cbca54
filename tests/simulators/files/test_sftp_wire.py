"""SFTP's packets: whatever comes, in whatever pieces."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clerkship.simulators.files.sftp.drop import Refused, parse_path
from clerkship.simulators.files.sftp.scp import parse_command
from clerkship.simulators.files.sftp.wire import (
    LONGEST,
    Attrs,
    BadPacket,
    Code,
    Entry,
    Fields,
    Splitter,
    render_names,
    render_status,
    string,
)


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=20), st.lists(st.integers(1, 400), max_size=30))
def test_packets_come_out_as_they_went_in(packets: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(string(packet) for packet in packets)
    splitter, found, at = Splitter(), [], 0
    for cut in [*cuts, len(stream)]:
        found += [bytes(packet) for packet in splitter.feed(stream[at : at + cut])]
        at += cut
    assert found == packets


@pytest.mark.parametrize("length", [0, LONGEST + 1, 0xFFFFFFFF])
def test_a_length_that_cannot_be_is_refused_before_its_bytes_come(length: int) -> None:
    with pytest.raises(BadPacket):
        Splitter().feed(struct.pack(">I", length))


@given(st.binary(max_size=200))
def test_fields_of_garbage_end_in_words(data: bytes) -> None:
    fields = Fields(memoryview(data))
    try:
        while True:
            fields.attrs(), fields.string(), fields.long()
    except BadPacket:
        pass


@given(
    st.one_of(st.none(), st.integers(0, 2**63)),
    st.one_of(st.none(), st.tuples(st.integers(0, 2**31), st.integers(0, 2**31))),
    st.one_of(st.none(), st.integers(0, 0o7777)),
    st.one_of(st.none(), st.integers(0, 2**32 - 1)),
)
def test_attributes(size: int | None, owner: tuple[int, int] | None, mode: int | None, at: int | None) -> None:
    flags = sum(bit for bit, value in zip((1, 2, 4, 8), (size, owner, mode, at), strict=True) if value is not None)
    data = struct.pack(">I", flags)
    data += b"" if size is None else struct.pack(">Q", size)
    data += b"" if owner is None else struct.pack(">II", *owner)
    data += b"" if mode is None else struct.pack(">I", mode)
    data += b"" if at is None else struct.pack(">II", 5, at)
    assert Fields(memoryview(data)).attrs() == Attrs(size, owner, mode, at)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (b"", ""),
        (b"/", ""),
        (b".", ""),
        (b"..", ""),
        (b"../../../etc/passwd", "etc/passwd"),
        (b"/inbox/../../etc", "etc"),
        (b"inbox//./a/", "inbox/a"),
        (b"a/b/../c", "a/c"),
        (b"...", "..."),
        ("für".encode(), "für"),
        (b"a\\..\\b", "a\\..\\b"),
    ],
)
def test_nothing_is_above_the_drop(said: bytes, meant: str) -> None:
    assert parse_path(said) == meant


def _is_text(data: bytes) -> bool:
    return data.decode(errors="ignore").encode() == data


@given(st.one_of(st.binary(max_size=80), st.text("./ab").map(str.encode)))
def test_no_path_leads_out(data: bytes) -> None:
    if not _is_text(data):
        with pytest.raises(Refused, match="UTF-8"):
            parse_path(data)
        return
    parts = parse_path(data).split("/")
    assert parts == [""] or not {"", ".", ".."} & set(parts)


def test_what_is_old_shows_its_year() -> None:
    entries = [Entry("new", False, 5, 1_772_445_600), Entry("old", True, 0, 1_700_000_000)]
    packet = render_names(1, entries, 1_772_445_600)
    assert b"-rw-r--r--    1 drop     drop            5 Mar  2 10:00 new" in packet
    assert b"drwxr-xr-x    2 drop     drop            0 Nov 14  2023 old" in packet
    assert b"No such file" in render_status(1, Code.NO_SUCH_FILE)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("scp -t inbox", ("t", ("inbox",))),
        ("scp -r -p -d -t -- '-odd name'", ("t", ("-odd name",))),
        ("scp -f a 'b c'", ("f", ("a", "b c"))),
        ("/usr/bin/scp -v -f x", ("f", ("x",))),
        ("scp -t a b", None),
        ("scp -tf a", None),
        ("scp a b", None),
        ("scp -t", None),
        ("scp -t 'a", None),
        ("scp -S evil -t a", None),
        ("rm -rf /", None),
        ("sh -c 'scp -t a'", None),
        ("", None),
    ],
)
def test_a_command_is_scp_or_nothing(said: str, meant: tuple[str, tuple[str, ...]] | None) -> None:
    command = parse_command(said)
    assert (None if command is None else ("f" if command.sends else "t", command.paths)) == meant
