"""Nobody is kept waiting by what another client does, and nobody is left without an answer."""

import asyncio
import struct

import asyncssh
import pytest

from clerkship.events.lifecycle import RequestRefused
from clerkship.kit.wall import perf_counter
from clerkship.playground.listeners import ListenerPool
from clerkship.simulators.files.events import FileWritten, FolderListed
from clerkship.simulators.files.sftp.server import DropServer
from tests.simulators.files.conftest import Serve
from tests.simulators.files.packets import Code, Flag, Kind, Raw, raw, string, within
from tests.simulators.files.served import Served
from tests.simulators.files.test_sftp import look, use
from tests.simulators.files.test_sftp_bad_input import held

ANEW = Flag.READ | Flag.WRITE | Flag.CREAT | Flag.TRUNC
BOTH = Flag.READ | Flag.WRITE


async def copied(session: Raw, source: bytes, start: int, length: int, target: bytes, at: int) -> Code:
    """How a copy went."""
    there, here = struct.pack(">QQ", start, length), struct.pack(">Q", at)
    return await session.code(Kind.EXTENDED, string(b"copy-data"), source, there, target, here)


def test_copying_file_onto_itself_is_refused(serve: Serve) -> None:
    """It would grow ahead of the copy, byte by byte, up to all that the drop may hold. OpenSSH refuses it too."""
    drop = serve()

    async def work(session: Raw) -> None:
        handle = await session.open(b"inbox/x", ANEW)
        assert await session.write(handle, b"z") is Code.OK
        assert await copied(session, handle, 0, 0, handle, 1) is Code.FAILURE
        again = await session.open(b"inbox/x", ANEW)
        assert await copied(session, handle, 0, 0, again, 1) is Code.FAILURE
        assert await session.code(Kind.CLOSE, again) is Code.OK
        assert await session.code(Kind.CLOSE, handle) is Code.OK

    within(5, raw(drop, work))
    assert drop.state.records["inbox/x"] == b"z"


def reasons(drop: Served) -> list[str]:
    """What the drop has said no with, as the log has it."""
    return [event.reason for event in drop.events("sandbox.refused") if isinstance(event, RequestRefused)]


def test_changing_dataset_file_over_limit_is_refused(serve: Serve) -> None:
    """A dataset's file may be larger than what an agent may write."""
    drop = serve({"inbox/big": bytes(500)}, max_file=100)

    async def work(session: Raw) -> None:
        assert await session.code(Kind.OPEN, string(b"inbox/big"), struct.pack(">II", BOTH, 0)) is Code.FAILURE
        assert await session.code(Kind.STAT, string(b"nowhere")) is Code.NO_SUCH_FILE

    within(10, raw(drop, work))
    assert reasons(drop) == ["a file may have 100 bytes, not 500"]


def test_file_opened_twice_counts_twice_against_quota(serve: Serve, lines: ListenerPool) -> None:
    drop = serve(quota=1000)
    drop.handle.write("inbox/a", bytes(600))

    async def work(session: Raw) -> None:
        await session.open(b"inbox/a", BOTH)
        assert await session.code(Kind.OPEN, string(b"inbox/a"), struct.pack(">II", BOTH, 0)) is Code.FAILURE
        assert held(lines) == 600

    within(10, raw(drop, work))
    assert reasons(drop) == [
        "the drop may hold 1000 bytes, and 0 are used and 600 are being uploaded; there is no room for 600"
    ]


@pytest.mark.parametrize("kind", [Kind.REALPATH, Kind.READ])
def test_simulator_error_breaks_connection_without_waiting(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, kind: Kind
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(DropServer, "realpath", broken)
    monkeypatch.setattr(DropServer, "read", broken)
    drop = serve({"inbox/a": b"a"})

    async def work(session: Raw) -> None:
        handle = await session.open(b"inbox/a", Flag.READ)
        body = handle + bytes(12) if kind is Kind.READ else string(b".")
        session.stdin.write(string(bytes([kind]) + bytes(4) + body))
        with pytest.raises(asyncssh.ConnectionLost):
            await session.answer()

    within(10, raw(drop, work))
    assert use(drop, look) == ["a"]


def test_data_before_refused_write_is_stored_as_incomplete(serve: Serve, lines: ListenerPool) -> None:
    """As on a disk that is full: the write fails, closing does not, and who does not look believes that all is there.
    The log knows better."""
    drop = serve(quota=1000, max_file=900)

    async def work(session: Raw) -> None:
        handle = await session.open(b"inbox/x", ANEW)
        assert await session.write(handle, bytes(400)) is Code.OK
        assert await session.write(handle, bytes(700), 400) is Code.FAILURE
        assert await session.write(handle, b"late", 400) is Code.FAILURE
        assert await session.code(Kind.CLOSE, handle) is Code.OK
        other = await session.open(b"inbox/y", ANEW)
        assert await session.write(other, bytes(200)) is Code.OK
        last = await session.open(b"inbox/z", ANEW)
        assert await session.write(last, bytes(500)) is Code.FAILURE
        assert await session.code(Kind.CLOSE, other) is Code.OK
        assert await session.code(Kind.CLOSE, last) is Code.OK

    within(10, raw(drop, work))
    kept = [event for event in drop.events("files.file.written") if isinstance(event, FileWritten)]
    assert [(event.path, event.size, event.complete) for event in kept] == [
        ("inbox/x", 400, False),
        ("inbox/y", 200, True),
        ("inbox/z", 0, False),
    ]
    assert reasons(drop) == [
        "a file may have 900 bytes, not 1100",
        "the drop may hold 1000 bytes, and 400 are used and 200 are being uploaded; there is no room for 500",
    ]
    assert held(lines) == 0


def test_refused_extension_leaves_file_unchanged(serve: Serve) -> None:
    drop = serve(max_file=900)

    async def work(session: Raw) -> None:
        handle = await session.open(b"inbox/x", ANEW)
        assert await session.write(handle, b"abc") is Code.OK
        assert await session.code(Kind.FSETSTAT, handle, struct.pack(">IQ", 1, 2**63)) is Code.FAILURE
        assert await session.write(handle, b"d", 3) is Code.OK
        assert await session.code(Kind.CLOSE, handle) is Code.OK

    within(10, raw(drop, work))
    assert drop.state.records["inbox/x"] == b"abcd"
    assert not drop.state.volume.incomplete


LONG = {f"inbox/{number:06}.hl7": b"x" for number in range(100_000)}


def test_large_folder_does_not_block_other_clients(serve: Serve) -> None:
    """To list it or to give it another name: whoever asks something else meanwhile is answered in between."""
    drop, other = serve(LONG), serve()
    waits: list[float] = []
    looks = asyncio.Event()

    async def look_on(session: Raw, over: asyncio.Event) -> None:
        while not over.is_set():
            began = perf_counter()
            await session.ask(Kind.REALPATH, struct.pack(">I", 1) + string(b"."))
            waits.append(perf_counter() - began)
            looks.set()
            await asyncio.sleep(0)

    async def work(session: Raw) -> None:
        await session.ask(Kind.OPENDIR, struct.pack(">I", 1) + string(b"inbox"))  # the first finds out what is where
        over = asyncio.Event()
        looking = asyncio.create_task(raw(other, lambda looker: look_on(looker, over)))
        await looks.wait()
        for _ in range(3):
            kind, handle = await session.ask(Kind.OPENDIR, struct.pack(">I", 1) + string(b"inbox"))
            assert kind == Kind.HANDLE
            await session.ask(Kind.READDIR, struct.pack(">I", 1) + handle)
        assert await session.code(Kind.RENAME, string(b"inbox"), string(b"moved")) is Code.OK
        over.set()
        await looking

    within(40, raw(drop, work))
    assert max(waits) < 0.4
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

    names = use(drop, work)
    assert len(names) == len(set(names))
    assert {".", "..", "0001", "0700x", "new"} < set(names)
    assert "0900" not in names
    assert len(names) == 2 + 1000 + 2 - 1


def test_listing_of_removed_folder_ends(serve: Serve) -> None:
    drop = serve({f"inbox/{number:04}": b"x" for number in range(1000)})

    async def work(session: Raw) -> None:
        _, handle = await session.ask(Kind.OPENDIR, struct.pack(">I", 1) + string(b"inbox"))
        assert (await session.ask(Kind.READDIR, struct.pack(">I", 1) + handle))[0] == Kind.NAME
        assert await session.code(Kind.RENAME, string(b"inbox"), string(b"moved")) is Code.OK
        assert await session.code(Kind.READDIR, handle) is Code.EOF
        assert await session.code(Kind.CLOSE, handle) is Code.OK

    within(20, raw(drop, work))
