"""Fairness between SFTP clients: no client blocks another, and every request is answered."""

import asyncio
import struct

import asyncssh
import pytest

from clerkship.events.lifecycle import RequestRefused
from clerkship.playground.listeners import ListenerPool
from clerkship.simulators.files.events import FileWritten, FolderListed
from clerkship.simulators.files.sftp.server import DropServer
from tests.simulators.files.conftest import Serve
from tests.simulators.files.packets import (
    OpenFlag,
    PacketType,
    RawSession,
    StatusCode,
    encode_string,
    run_raw_session,
    run_within,
)
from tests.simulators.files.served import SftpDrop
from tests.simulators.files.test_sftp import list_inbox, run_client
from tests.simulators.files.test_sftp_bad_input import count_buffered_bytes

ANEW = OpenFlag.READ | OpenFlag.WRITE | OpenFlag.CREAT | OpenFlag.TRUNC
BOTH = OpenFlag.READ | OpenFlag.WRITE


async def copy_data(session: RawSession, source: bytes, start: int, length: int, target: bytes, at: int) -> StatusCode:
    """Send copy-data, and return its status code."""
    there, here = struct.pack(">QQ", start, length), struct.pack(">Q", at)
    return await session.code(PacketType.EXTENDED, encode_string(b"copy-data"), source, there, target, here)


def test_copying_file_onto_itself_is_refused(serve: Serve) -> None:
    """It would grow ahead of the copy up to the quota. OpenSSH refuses it too."""
    drop = serve()

    async def work(session: RawSession) -> None:
        handle = await session.open(b"inbox/x", ANEW)
        assert await session.write(handle, b"z") is StatusCode.OK
        assert await copy_data(session, handle, 0, 0, handle, 1) is StatusCode.FAILURE
        again = await session.open(b"inbox/x", ANEW)
        assert await copy_data(session, handle, 0, 0, again, 1) is StatusCode.FAILURE
        assert await session.code(PacketType.CLOSE, again) is StatusCode.OK
        assert await session.code(PacketType.CLOSE, handle) is StatusCode.OK

    run_within(5, run_raw_session(drop, work))
    assert drop.state.records["inbox/x"] == b"z"


def refusal_reasons(drop: SftpDrop) -> list[str]:
    """Return the reasons of all refusals in the log."""
    return [event.reason for event in drop.events("sandbox.refused") if isinstance(event, RequestRefused)]


def test_changing_dataset_file_over_limit_is_refused(serve: Serve) -> None:
    """A dataset's file may be larger than the limit for the agent."""
    drop = serve({"inbox/big": bytes(500)}, max_file=100)

    async def work(session: RawSession) -> None:
        assert (
            await session.code(PacketType.OPEN, encode_string(b"inbox/big"), struct.pack(">II", BOTH, 0))
            is StatusCode.FAILURE
        )
        assert await session.code(PacketType.STAT, encode_string(b"nowhere")) is StatusCode.NO_SUCH_FILE

    run_within(10, run_raw_session(drop, work))
    assert refusal_reasons(drop) == ["a file may have 100 bytes, not 500"]


def test_file_opened_twice_counts_twice_against_quota(serve: Serve, lines: ListenerPool) -> None:
    drop = serve(quota=1000)
    drop.handle.write("inbox/a", bytes(600))

    async def work(session: RawSession) -> None:
        await session.open(b"inbox/a", BOTH)
        assert (
            await session.code(PacketType.OPEN, encode_string(b"inbox/a"), struct.pack(">II", BOTH, 0))
            is StatusCode.FAILURE
        )
        assert count_buffered_bytes(lines) == 600

    run_within(10, run_raw_session(drop, work))
    assert refusal_reasons(drop) == [
        "the drop may hold 1000 bytes, and 0 are used and 600 are being uploaded; there is no room for 600"
    ]


@pytest.mark.parametrize("kind", [PacketType.REALPATH, PacketType.READ])
def test_simulator_error_breaks_connection_without_waiting(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, kind: PacketType
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(DropServer, "realpath", broken)
    monkeypatch.setattr(DropServer, "read", broken)
    drop = serve({"inbox/a": b"a"})

    async def work(session: RawSession) -> None:
        handle = await session.open(b"inbox/a", OpenFlag.READ)
        body = handle + bytes(12) if kind is PacketType.READ else encode_string(b".")
        session.stdin.write(encode_string(bytes([kind]) + bytes(4) + body))
        with pytest.raises(asyncssh.ConnectionLost):
            await session.answer()

    run_within(10, run_raw_session(drop, work))
    assert run_client(drop, list_inbox) == ["a"]


def test_data_before_refused_write_is_stored_as_incomplete(serve: Serve, lines: ListenerPool) -> None:
    """As on a full disk, the write fails and closing succeeds. The log marks the file as incomplete."""
    drop = serve(quota=1000, max_file=900)

    async def work(session: RawSession) -> None:
        handle = await session.open(b"inbox/x", ANEW)
        assert await session.write(handle, bytes(400)) is StatusCode.OK
        assert await session.write(handle, bytes(700), 400) is StatusCode.FAILURE
        assert await session.write(handle, b"late", 400) is StatusCode.FAILURE
        assert await session.code(PacketType.CLOSE, handle) is StatusCode.OK
        other = await session.open(b"inbox/y", ANEW)
        assert await session.write(other, bytes(200)) is StatusCode.OK
        last = await session.open(b"inbox/z", ANEW)
        assert await session.write(last, bytes(500)) is StatusCode.FAILURE
        assert await session.code(PacketType.CLOSE, other) is StatusCode.OK
        assert await session.code(PacketType.CLOSE, last) is StatusCode.OK

    run_within(10, run_raw_session(drop, work))
    kept = [event for event in drop.events("files.file.written") if isinstance(event, FileWritten)]
    assert [(event.path, event.size, event.complete) for event in kept] == [
        ("inbox/x", 400, False),
        ("inbox/y", 200, True),
        ("inbox/z", 0, False),
    ]
    assert refusal_reasons(drop) == [
        "a file may have 900 bytes, not 1100",
        "the drop may hold 1000 bytes, and 400 are used and 200 are being uploaded; there is no room for 500",
    ]
    assert count_buffered_bytes(lines) == 0


def test_refused_extension_leaves_file_unchanged(serve: Serve) -> None:
    drop = serve(max_file=900)

    async def work(session: RawSession) -> None:
        handle = await session.open(b"inbox/x", ANEW)
        assert await session.write(handle, b"abc") is StatusCode.OK
        assert await session.code(PacketType.FSETSTAT, handle, struct.pack(">IQ", 1, 2**63)) is StatusCode.FAILURE
        assert await session.write(handle, b"d", 3) is StatusCode.OK
        assert await session.code(PacketType.CLOSE, handle) is StatusCode.OK

    run_within(10, run_raw_session(drop, work))
    assert drop.state.records["inbox/x"] == b"abcd"
    assert not drop.state.volume.incomplete


MAX_PAGE_BYTES = 100_000
"""Size of one part of a listing; between two parts, other clients are served."""


def test_large_folder_does_not_block_other_clients(serve: Serve) -> None:
    """While it is listed or renamed, requests of other clients are answered."""
    drop, other = serve({f"inbox/{number:06}.hl7": b"x" for number in range(100_000)}), serve()
    answers = 0
    looks = asyncio.Event()

    async def look_on(session: RawSession, over: asyncio.Event) -> None:
        nonlocal answers
        while not over.is_set():
            await session.ask(PacketType.REALPATH, struct.pack(">I", 1) + encode_string(b"."))
            answers += 1
            looks.set()
            await asyncio.sleep(0)

    async def work(session: RawSession) -> None:
        await session.ask(
            PacketType.OPENDIR, struct.pack(">I", 1) + encode_string(b"inbox")
        )  # the first call builds the index
        over = asyncio.Event()
        looking = asyncio.create_task(run_raw_session(other, lambda looker: look_on(looker, over)))
        await looks.wait()
        for _ in range(3):
            kind, handle = await session.ask(PacketType.OPENDIR, struct.pack(">I", 1) + encode_string(b"inbox"))
            assert kind == PacketType.HANDLE
            _, page = await session.ask(PacketType.READDIR, struct.pack(">I", 1) + handle)
            assert len(page) < MAX_PAGE_BYTES
        before = answers
        assert await session.code(PacketType.RENAME, encode_string(b"inbox"), encode_string(b"moved")) is StatusCode.OK
        assert answers > before
        over.set()
        await looking

    run_within(40, run_raw_session(drop, work))
    listed = [event for event in drop.events("files.folder.listed") if isinstance(event, FolderListed)]
    assert [(event.prefix, event.count) for event in listed] == [("inbox/", 100_000)] * 4


def test_listing_has_each_name_once_during_changes(serve: Serve) -> None:
    drop = serve({f"inbox/{number:04}": b"x" for number in range(1000)})

    async def work(sftp: asyncssh.SFTPClient) -> list[str]:
        coming = [await sftp.open(f"inbox/{name}", "wb") for name in ("0001", "0700x", "new")]
        names: list[str] = []
        async for entry in sftp.scandir("inbox"):
            names.append(str(entry.filename))
            if len(names) == 100:
                for file in coming:
                    await file.close()
                drop.handle.delete("inbox/0005")
                drop.handle.delete("inbox/0900")
        return names

    names = run_client(drop, work)
    assert len(names) == len(set(names))
    assert {".", "..", "0001", "0700x", "new"} < set(names)
    assert "0900" not in names
    assert len(names) == 2 + 1000 + 2 - 1


def test_listing_of_removed_folder_ends(serve: Serve) -> None:
    drop = serve({f"inbox/{number:04}": b"x" for number in range(1000)})

    async def work(session: RawSession) -> None:
        _, handle = await session.ask(PacketType.OPENDIR, struct.pack(">I", 1) + encode_string(b"inbox"))
        assert (await session.ask(PacketType.READDIR, struct.pack(">I", 1) + handle))[0] == PacketType.NAME
        assert await session.code(PacketType.RENAME, encode_string(b"inbox"), encode_string(b"moved")) is StatusCode.OK
        assert await session.code(PacketType.READDIR, handle) is StatusCode.EOF
        assert await session.code(PacketType.CLOSE, handle) is StatusCode.OK

    run_within(20, run_raw_session(drop, work))
