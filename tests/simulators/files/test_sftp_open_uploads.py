"""A file that is being uploaded exists for every request, and cannot be moved or removed before it is closed."""

from collections.abc import Coroutine
from typing import Any

import asyncssh
import pytest

from clerkship.events.lifecycle import RequestRefused
from clerkship.simulators.files.events import FileWritten
from tests.simulators.files.conftest import Serve
from tests.simulators.files.packets import (
    OpenFlag,
    PacketType,
    RawSession,
    StatusCode,
    connect,
    encode_string,
    open_raw_session,
    run_raw_session,
    run_within,
)
from tests.simulators.files.test_sftp import get, put, run_client, run_connected

CREATE = OpenFlag.WRITE | OpenFlag.CREAT | OpenFlag.TRUNC
EXCLUSIVE = OpenFlag.WRITE | OpenFlag.CREAT | OpenFlag.EXCL


def test_exclusive_create_excludes_an_open_upload(serve: Serve) -> None:
    drop = serve()

    async def work() -> None:
        async with connect(drop) as connection, connect(drop) as other_connection:
            first, second = await open_raw_session(connection), await open_raw_session(other_connection)
            handle = await first.open(b"inbox/lock", EXCLUSIVE)
            for session in (first, second):
                attrs = EXCLUSIVE.to_bytes(4, "big") + bytes(4)
                assert await session.code(PacketType.OPEN, encode_string(b"inbox/lock"), attrs) is StatusCode.FAILURE
            assert await first.write(handle, b"mine") is StatusCode.OK
            assert await first.code(PacketType.CLOSE, handle) is StatusCode.OK

    run_within(10, work())
    (written,) = drop.events("files.file.written")
    assert isinstance(written, FileWritten)
    assert written.data == b"mine"


def test_exclusive_create_by_two_clients_at_once_gives_it_to_one(serve: Serve) -> None:
    drop = serve()

    async def work(session: RawSession) -> list[int]:
        packet = (
            bytes([PacketType.OPEN]) + bytes(4) + encode_string(b"inbox/lock") + EXCLUSIVE.to_bytes(4, "big") + bytes(4)
        )
        session.stdin.write(encode_string(packet) * 2)
        return sorted([(await session.answer())[0], (await session.answer())[0]])

    assert run_within(10, run_raw_session(drop, work)) == [PacketType.STATUS, PacketType.HANDLE]


def test_exclusive_create_works_again_after_the_upload_was_removed(serve: Serve) -> None:
    async def work(sftp: asyncssh.SFTPClient) -> None:
        for _ in range(2):
            async with sftp.open("inbox/lock", "xb"):
                pass
            await sftp.remove("inbox/lock")

    run_client(serve(), work)


@pytest.mark.parametrize("before", [False, True], ids=["new", "overwritten"])
def test_every_request_agrees_that_an_upload_exists(serve: Serve, before: bool) -> None:
    drop = serve({"inbox/a": b"a", "outbound/x": b"old"} if before else {"inbox/a": b"a"})

    async def work(sftp: asyncssh.SFTPClient) -> None:
        file = await sftp.open("outbound/x", "wb")
        await file.write(b"12345")
        assert (await sftp.stat("outbound/x")).size == 5
        assert (await sftp.lstat("outbound/x")).size == 5
        assert [entry.attrs.size for entry in await sftp.readdir("outbound") if entry.filename == "x"] == [5]
        refused: list[Coroutine[Any, Any, Any]] = [
            sftp.rename("outbound/x", "outbound/y"),
            sftp.posix_rename("outbound/x", "outbound/y"),
            sftp.rename("inbox/a", "outbound/x"),
            sftp.posix_rename("inbox/a", "outbound/x"),
            sftp.rename("outbound", "sent"),
            sftp.remove("outbound/x"),
            sftp.mkdir("outbound/x"),
            sftp.rmdir("outbound"),
            sftp.rmdir("outbound/x"),
        ]
        for request in refused:
            with pytest.raises(asyncssh.SFTPFailure, match="outbound/x is being uploaded"):
                await request
        await file.close()
        await sftp.rename("outbound/x", "outbound/y")

    run_client(drop, work)
    assert drop.state.records["outbound/y"] == b"12345"
    assert list(drop.state.volume.paths()) == ["inbox/a", "outbound/y"]
    refusals = [event for event in drop.events("sandbox.refused") if isinstance(event, RequestRefused)]
    assert [refusal.reason for refusal in refusals] == ["outbound/x is being uploaded"] * 9


def test_reading_an_upload_is_refused_unless_the_drop_has_an_earlier_version(serve: Serve) -> None:
    async def work(sftp: asyncssh.SFTPClient) -> None:
        new, old = await sftp.open("inbox/new", "wb"), await sftp.open("inbox/old", "wb")
        with pytest.raises(asyncssh.SFTPFailure, match="inbox/new is being uploaded"):
            await sftp.open("inbox/new", "rb")
        assert await get(sftp, "inbox/old") == b"old"
        await new.close()
        await old.close()

    run_client(serve({"inbox/old": b"old"}), work)


def test_attributes_set_by_path_go_to_the_upload(serve: Serve) -> None:
    drop = serve()

    async def work(sftp: asyncssh.SFTPClient) -> None:
        async with sftp.open("inbox/x", "wb") as file:
            await file.write(b"12345")
            await sftp.truncate("inbox/x", 3)
            await sftp.utime("inbox/x", (1, 1_700_000_000))
            assert (await sftp.stat("inbox/x")).mtime == 1_700_000_000

    run_client(drop, work)
    assert drop.state.records["inbox/x"] == b"123"
    assert int(drop.state.volume.modified("inbox/x").timestamp()) == 1_700_000_000


def test_an_upload_in_one_connection_exists_for_another(serve: Serve) -> None:
    drop = serve()

    async def other(sftp: asyncssh.SFTPClient) -> None:
        assert (await sftp.stat("inbox/x")).size == 0
        with pytest.raises(asyncssh.SFTPFailure, match="is being uploaded"):
            await sftp.remove("inbox/x")
        await put(sftp, "inbox/xy", b"another name that begins alike")
        await sftp.remove("inbox/xy")

    async def work(sftp: asyncssh.SFTPClient) -> None:
        async with sftp.open("inbox/x", "wb"):
            await run_connected(drop, other)

    run_client(drop, work)


def test_of_two_uploads_to_one_path_the_first_exists_after_the_second_is_closed(serve: Serve) -> None:
    async def work(sftp: asyncssh.SFTPClient) -> None:
        first = await sftp.open("inbox/x", "wb")
        async with sftp.open("inbox/x", "wb") as second:
            await second.write(b"second")
            assert (await sftp.stat("inbox/x")).size == 6
        assert (await sftp.stat("inbox/x")).size == 0
        with pytest.raises(asyncssh.SFTPFailure, match="is being uploaded"):
            await sftp.remove("inbox/x")
        await first.close()
        await sftp.remove("inbox/x")

    run_client(serve(), work)
