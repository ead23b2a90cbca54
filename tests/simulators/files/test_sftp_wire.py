"""Tests of SFTP packets: splitting, lengths, attributes and paths."""

import itertools
import struct
from typing import Any

import asyncssh
import pytest
from asyncssh.sftp import MAX_SFTP_PACKET_LEN
from hypothesis import given
from hypothesis import strategies as st

from clerkship.simulators.files.sftp.server import GROUP, OWNER, build_attrs, build_name, parse_path
from tests.simulators.files.conftest import Serve
from tests.simulators.files.packets import (
    PacketType,
    RawSession,
    StatusCode,
    connect,
    encode_string,
    run_raw_session,
    run_within,
)


def test_packets_split_into_pieces_are_answered(serve: Serve) -> None:
    packets = [
        encode_string(bytes([PacketType.REALPATH]) + struct.pack(">I", n) + encode_string(b"x" * n)) for n in range(40)
    ]
    stream = b"".join(packets)

    async def work(session: RawSession) -> None:
        for size in (1, 3, 4, 5, 17, 100, len(stream)):
            for start in range(0, len(stream), size):
                session.stdin.write(stream[start : start + size])
            for number in range(40):
                kind, body = await session.answer()
                path = encode_string(b"/" + b"x" * number)
                assert (kind, body) == (PacketType.NAME, struct.pack(">I", 1) + path + encode_string(b"") + bytes(4))

    run_within(20, run_raw_session(serve(), work))


def test_reply_is_one_packet_of_ssh(serve: Serve) -> None:
    async def count_packets() -> int:
        async with connect(serve()) as connection, connection.start_sftp_client() as sftp:
            before = connection._recv_seq
            for _ in range(20):
                await sftp.realpath("inbox")
            packets: int = connection._recv_seq - before
            return packets

    assert run_within(10, count_packets()) == 20


@pytest.mark.parametrize("length", [0, MAX_SFTP_PACKET_LEN + 1, 0xFFFFFFFF])
def test_invalid_packet_length_ends_session(serve: Serve, length: int) -> None:
    async def work(session: RawSession) -> int:
        session.stdin.write(struct.pack(">I", length))
        assert await session.stdout.read() == b""
        status: int = session.stdin.channel.get_exit_status()
        return status

    assert run_within(10, run_raw_session(serve(), work)) == 255


def test_attributes_in_every_combination_are_set(serve: Serve) -> None:
    drop = serve({"inbox/a": b"abcdef"})
    fields = [
        (1, struct.pack(">Q", 3)),
        (2, struct.pack(">II", OWNER, GROUP)),
        (4, struct.pack(">I", 0o600)),
        (8, struct.pack(">II", 5, 1_700_000_000)),
    ]

    async def work(session: RawSession) -> None:
        for chosen in itertools.chain.from_iterable(itertools.combinations(fields, count) for count in range(5)):
            drop.handle.write("inbox/a", b"abcdef")
            flags = sum(bit for bit, _ in chosen)
            attrs = struct.pack(">I", flags) + b"".join(data for _, data in chosen)
            assert await session.code(PacketType.SETSTAT, encode_string(b"inbox/a"), attrs) is StatusCode.OK
            assert drop.state.records["inbox/a"] == (b"abc" if flags & 1 else b"abcdef")
            modified = int(drop.state.volume.modified("inbox/a").timestamp())
            assert (modified == 1_700_000_000) == bool(flags & 8)

    run_within(20, run_raw_session(drop, work))


@pytest.mark.parametrize(
    ("path", "expected"),
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
def test_parent_of_root_is_root(path: bytes, expected: str) -> None:
    assert parse_path(path) == expected


def _is_text(data: bytes) -> bool:
    return data.decode(errors="ignore").encode() == data


@given(st.one_of(st.binary(max_size=80), st.text("./ab").map(str.encode)))
def test_any_path_stays_in_drop(data: bytes) -> None:
    if not _is_text(data):
        with pytest.raises(asyncssh.SFTPFailure, match="UTF-8"):
            parse_path(data)
        return
    parts = parse_path(data).split("/")
    assert parts == [""] or not {"", ".", ".."} & set(parts)


def test_long_name_of_old_file_shows_year() -> None:
    now = 1_772_445_600
    new, old = (
        build_name("new", build_attrs(now, 5), now),
        build_name("old", build_attrs(1_700_000_000, is_folder=True), now),
    )
    assert new.longname == b"-rw-r--r--    1 drop     drop            5 Mar  2 10:00 new"
    assert old.longname == b"drwxr-xr-x    2 drop     drop            0 Nov 14  2023 old"


def test_home_folder_is_root(serve: Serve) -> None:
    async def work(session: RawSession) -> None:
        for path, expected in ((b"~", b"/"), (b"~/inbox/..", b"/"), (b"~/inbox", b"/inbox"), (b"a", b"/a")):
            body = struct.pack(">I", 1) + encode_string(b"expand-path@openssh.com") + encode_string(path)
            kind, answer = await session.ask(PacketType.EXTENDED, body)
            assert (kind, answer[4 : 8 + len(expected)]) == (PacketType.NAME, encode_string(expected))

    run_within(10, run_raw_session(serve(), work))


COMMANDS = [
    ("scp -t inbox", True),
    ("scp -r -p -d -t -- '-odd name'", True),
    ("scp -v -f inbox/x", True),
    ("scp -t a b", False),
    ("scp -tf a", False),
    ("scp a b", False),
    ("scp -t", False),
    ("scp -t 'a", False),
    ("scp -S evil -t a", False),
    ("rm -rf /", False),
    ("sh -c 'scp -t a'", False),
    ("", False),
]


def test_only_scp_commands_are_accepted(serve: Serve) -> None:
    drop = serve({"inbox/x": b"x"})

    async def accepts(connection: Any, command: str) -> bool:
        try:
            process = await connection.create_process(command, encoding=None)
        except asyncssh.ChannelOpenError:
            return False
        process.stdin.write_eof()
        return bool((await process.wait()).exit_status == 0)

    async def work() -> None:
        async with connect(drop) as connection:
            for command, accepted in COMMANDS:
                assert await accepts(connection, command) is accepted, command

    run_within(20, work())
