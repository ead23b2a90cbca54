"""SFTP against hostile clients: protocol errors, bounded memory, no effect on others."""

import asyncio
import os
import resource
import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import asyncssh
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.events.lifecycle import RequestRefused
from clerkship.playground.listeners import ListenerPool
from clerkship.simulators.files.sftp.handler import MAX_HANDLES
from clerkship.simulators.files.sftp.listener import LIMITS, SETTINGS, Sftp
from clerkship.simulators.files.sftp.upload import Uploads
from clerkship.transports.user_listener import max_connections
from tests.examples import examples
from tests.simulators.files.conftest import Serve
from tests.simulators.files.packets import (
    PacketType,
    RawSession,
    StatusCode,
    connect,
    encode_string,
    open_raw_session,
    run_raw_session,
    run_within,
)
from tests.simulators.files.served import SftpDrop
from tests.simulators.files.test_sftp import list_inbox, put, run_client, run_connected
from tests.waiting import wait_until

MEGABYTE = 1_000_000


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def count_buffered_bytes(serve_lines: ListenerPool) -> int:
    """Return the bytes of open uploads to all drops."""
    return sum(uploads.buffered_bytes for uploads in find_uploads(serve_lines))


def find_uploads(serve_lines: ListenerPool) -> list[Uploads]:
    """Return the open uploads of each drop."""
    listener = serve_lines._running["files", "sftp"].listener
    assert isinstance(listener, Sftp)
    return [account.uploads for account in listener._accounts.values()]


NAMES = ["a\0b", "a\nb", "\x1b[2J", "x" * 5000, "/".join(["d"] * 3000), "\u2028", "a\x7f"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_invalid_names_are_refused(serve: Serve, name: str) -> None:
    drop = serve({"inbox/a": b"a"})

    async def work(sftp: asyncssh.SFTPClient) -> None:
        for change in (
            put(sftp, f"inbox/{name}", b"x"),
            sftp.mkdir(f"inbox/{name}"),
            sftp.rename("inbox/a", f"inbox/{name}"),
            sftp.remove(f"inbox/{name}"),
            sftp.stat(f"inbox/{name}"),
            sftp.utime(f"inbox/{name}", (1, 1)),
            sftp.listdir(f"inbox/{name}"),
        ):
            with pytest.raises((asyncssh.SFTPFailure, asyncssh.SFTPNoSuchFile)):
                await change
        assert await list_inbox(sftp) == ["a"]

    run_client(drop, work)
    assert drop.playground.broken is None


def test_path_that_is_not_utf_8_is_refused(serve: Serve) -> None:
    async def work(sftp: asyncssh.SFTPClient) -> None:
        with pytest.raises(asyncssh.SFTPFailure, match="UTF-8"):
            await sftp.stat(b"inbox/\xff\xfe")

    run_client(serve(), work)


def test_paths_stay_in_drop_and_links_are_unsupported(serve: Serve) -> None:
    drop = serve({"inbox/a": b"a"})

    async def work(sftp: asyncssh.SFTPClient) -> None:
        for path in ("/etc/passwd", "../../../../etc/passwd", "inbox/../../../etc/passwd", "/inbox/..//../etc/passwd"):
            with pytest.raises(asyncssh.SFTPNoSuchFile):
                await sftp.open(path, "rb")
            with pytest.raises(asyncssh.SFTPNoSuchFile):
                await sftp.open(path, "wb")
        assert await sftp.realpath("../../..") == "/"
        for link in (sftp.symlink("/etc/passwd", "inbox/l"), sftp.readlink("inbox/a")):
            with pytest.raises(asyncssh.SFTPOpUnsupported):
                await link
        for path in ("", "/", "inbox/.."):
            with pytest.raises(asyncssh.SFTPFailure):
                await sftp.open(path, "wb")
            with pytest.raises(asyncssh.SFTPFailure):
                await sftp.open(path, "rb")
            with pytest.raises(asyncssh.SFTPFailure):
                await sftp.remove(path)
            with pytest.raises(asyncssh.SFTPFailure):
                await sftp.rmdir(path)
            with pytest.raises(asyncssh.SFTPFailure):
                await sftp.mkdir(path)

    run_client(drop, work)
    assert list(drop.state.records) == ["inbox/a"]


def test_huge_offsets_are_refused(serve: Serve) -> None:
    drop = serve({"inbox/a": b"abc"}, max_file=MEGABYTE)

    async def work(session: RawSession) -> None:
        kind, handle = await session.ask(
            PacketType.OPEN, struct.pack(">I", 1) + encode_string(b"inbox/a") + struct.pack(">II", 1, 0)
        )
        assert kind == PacketType.HANDLE
        for offset in (3, 2**32, 2**63, 2**64 - 1):
            assert await session.code(PacketType.READ, handle, struct.pack(">QI", offset, 2**32 - 1)) is StatusCode.EOF
        kind, body = await session.ask(
            PacketType.READ, struct.pack(">I", 1) + handle + struct.pack(">QI", 1, 2**32 - 1)
        )
        assert (kind, body) == (PacketType.DATA, encode_string(b"bc"))
        assert (
            await session.code(PacketType.WRITE, handle, struct.pack(">Q", 0), encode_string(b"x"))
            is StatusCode.PERMISSION_DENIED
        )
        _, handle = await session.ask(
            PacketType.OPEN, struct.pack(">I", 1) + encode_string(b"inbox/b") + struct.pack(">II", 26, 0)
        )
        assert (
            await session.code(PacketType.WRITE, handle, struct.pack(">Q", 2**64 - 1), encode_string(b"x"))
            is StatusCode.FAILURE
        )
        assert (
            await session.code(PacketType.WRITE, handle, struct.pack(">Q", 0), encode_string(b"x"))
            is StatusCode.FAILURE
        )
        assert await session.code(PacketType.CLOSE, handle) is StatusCode.OK
        size = struct.pack(">IQ", 1, 2**63)
        assert await session.code(PacketType.SETSTAT, encode_string(b"inbox/a"), size) is StatusCode.FAILURE

    run_within(30, run_raw_session(drop, work))
    assert dict(drop.state.records) == {"inbox/a": b"abc", "inbox/b": b""}
    assert drop.state.volume.incomplete == {"inbox/b"}


def test_malformed_packets_are_refused(serve: Serve) -> None:
    drop = serve({"inbox/a": b"abc"})

    async def work(session: RawSession) -> None:
        assert await session.code(PacketType.OPEN, b"\0\0\xff\xff", b"inbox") is StatusCode.BAD_MESSAGE
        assert await session.code(PacketType.OPEN, encode_string(b"inbox/a")) is StatusCode.BAD_MESSAGE
        assert await session.code(PacketType.CLOSE, encode_string(b"nobody")) is StatusCode.FAILURE
        assert await session.code(PacketType.READ, encode_string(b"nobody"), bytes(12)) is StatusCode.FAILURE
        assert await session.code(PacketType.READDIR, encode_string(b"")) is StatusCode.FAILURE
        assert await session.code(PacketType.EXTENDED, encode_string(b"evil@example.com")) is StatusCode.OP_UNSUPPORTED
        for kind in (0, PacketType.INIT, PacketType.SYMLINK, PacketType.READLINK, 21, PacketType.STATUS, 255):
            assert await session.code(kind, bytes(40)) is StatusCode.OP_UNSUPPORTED
        session.stdin.write(b"\xff\xff\xff\xff")
        assert await session.stdout.read() == b""

    run_within(30, run_raw_session(drop, work))
    assert run_client(drop, list_inbox) == ["a"]


@pytest.mark.parametrize(
    "first", [b"GET / HTTP/1.1\r\n\r\n", bytes(100_000), encode_string(bytes([PacketType.OPEN]) + bytes(20))]
)
def test_session_without_init_ends(serve: Serve, first: bytes) -> None:
    async def work(session: RawSession) -> None:
        session.stdin.write(first)
        assert await session.stdout.read() == b""

    run_within(30, run_raw_session(serve(), work, begin=False))


PACKETS = st.lists(
    st.one_of(
        st.binary(min_size=1, max_size=60),
        st.tuples(
            st.sampled_from([*PacketType]),
            st.lists(
                st.sampled_from(
                    [
                        encode_string(b"inbox/a"),
                        encode_string(b"inbox"),
                        encode_string(b"../b"),
                        encode_string(b""),
                        encode_string(b"\0\0\0\1"),
                        encode_string(b"\0\0\0\2"),
                        encode_string(b"\0\0\0\3"),
                        encode_string(b"copy-data"),
                        encode_string(b"posix-rename@openssh.com"),
                        encode_string(b"statvfs@openssh.com"),
                        bytes(4),
                        bytes(8),
                        b"\0\0\0\1",
                        b"\0\0\0\x1a",
                        b"\0\0\0\2",
                        b"\xff" * 8,
                        b"\0\0\0\x0f",
                    ]
                ),
                max_size=7,
            ),
        ).map(lambda found: bytes([found[0]]) + bytes(4) + b"".join(found[1])),
    ),
    max_size=40,
)


@settings(max_examples=examples(300), deadline=None)
@given(PACKETS)
def answer_or_end(run: Callable[[list[bytes]], None], packets: list[bytes]) -> None:
    """Send packets in their own session."""
    run(packets)


def test_random_packets_are_answered_or_end_session(serve: Serve, lines: ListenerPool) -> None:
    """The sandbox is never broken, and nothing is left behind."""
    drop = serve({"inbox/a": b"abc"}, quota=10_000, max_file=5000)

    async def answered(connection: Any, packets: list[bytes]) -> None:
        session = await open_raw_session(connection)
        for packet in packets:
            session.stdin.write(encode_string(packet))
            try:
                await session.answer()
            except asyncio.IncompleteReadError:
                break
        session.stdin.channel.close()
        await session.stdin.channel.wait_closed()

    async def work() -> None:
        async with connect(drop) as connection:
            loop = asyncio.get_running_loop()

            def run(packets: list[bytes]) -> None:
                asyncio.run_coroutine_threadsafe(answered(connection, packets), loop).result(30)

            await asyncio.to_thread(answer_or_end, run)

    run_within(120, work())
    assert wait_until(lambda: find_uploads(lines) == [Uploads()])
    assert drop.playground.broken is None


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", bytes(50_000), os.urandom(50_000), b"SSH-1.5-x\r\n"]
)
def test_client_that_does_not_speak_ssh_is_disconnected(serve: Serve, data: bytes) -> None:
    drop = serve({"inbox/a": b"a"})
    with socket.create_connection(("127.0.0.1", drop.port), 10) as client:
        client.settimeout(20)
        client.sendall(data)
        heard = b""
        try:
            while data := client.recv(65_536):
                heard += data
        except ConnectionResetError:
            pass
        assert len(heard) < 5000
    assert run_client(drop, list_inbox) == ["a"]


def test_stalled_handshake_times_out(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    monkeypatch.setattr(Sftp, "settings", SETTINGS | {"login_timeout": 0.5})
    drop = serve()
    with socket.create_connection(("127.0.0.1", drop.port), 10) as slow:
        slow.settimeout(20)
        slow.sendall(b"SSH-2.0-slow\r\n")
        while slow.recv(65_536):
            pass


@pytest.fixture
def many_files() -> Iterator[None]:
    """Raise the limit of open files: both ends of every connection are in this process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    if 0 < before[1] < 2000:
        pytest.skip("a process may not have 2,000 files open here")
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_files")
def test_five_hundred_silent_connections_do_not_block_others(serve: Serve) -> None:
    drop = serve({"inbox/a": b"a"})
    clients: list[socket.socket] = []
    try:
        for _ in range(500):
            client = socket.create_connection(("127.0.0.1", drop.port), 10)
            client.sendall(b"SSH-2.0-many\r\n")
            clients.append(client)
        assert run_client(drop, list_inbox) == ["a"]
        clients += [socket.create_connection(("127.0.0.1", drop.port), 10) for _ in range(LIMITS.connections - 450)]
        assert run_client(drop, list_inbox) == ["a"], "a new client must get in although the listener is full"
        assert wait_until(lambda: _is_closed(clients[500])), "the oldest silent connection must be closed"
    finally:
        for client in clients:
            client.close()


def test_connection_over_limit_is_refused(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    monkeypatch.setattr(Sftp, "limits", replace(LIMITS, connections=2, per_sandbox=2))
    drop, other = serve({"inbox/a": b"a"}), serve()

    async def third(_: asyncssh.SFTPClient) -> None:
        with pytest.raises((asyncssh.Error, OSError)):
            await run_connected(other, list_inbox)

    async def second(_: asyncssh.SFTPClient) -> None:
        await run_connected(other, third)

    run_client(drop, second)
    assert wait_until(lambda: _comes_in(drop))


def test_silent_connection_is_closed_soon(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    monkeypatch.setattr(Sftp, "limits", replace(LIMITS, first=0.3))
    with socket.create_connection(("127.0.0.1", serve().port), 10) as silent:
        silent.settimeout(10)
        while silent.recv(65_536):
            pass


def test_connection_limit_follows_open_file_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((100_000, 600), (700, 444), (100, 32), (resource.RLIM_INFINITY, 600)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert min(LIMITS.connections, max_connections()) == most


@pytest.mark.long
@pytest.mark.usefixtures("many_files")
@pytest.mark.slow
def test_five_hundred_concurrent_clients_are_served(serve: Serve) -> None:
    drop, other = serve({"inbox/a": b"a"}), serve({"inbox/b": b"b"})
    inside: list[list[str]] = []

    async def all_of_them() -> list[str]:
        everybody = asyncio.Event()

        async def wait(sftp: asyncssh.SFTPClient) -> None:
            inside.append(await list_inbox(sftp))
            if len(inside) == 500:
                everybody.set()
            await everybody.wait()

        waiting = [asyncio.create_task(run_connected(drop, wait)) for _ in range(500)]
        found: list[str] = await run_connected(other, list_inbox)
        await asyncio.gather(*waiting)
        return found

    assert run_within(120, all_of_them()) == ["b"]
    assert inside == [["a"]] * 500


def _is_closed(client: socket.socket) -> bool:
    client.settimeout(5)
    try:
        return client.recv(10_000) == b""
    except ConnectionError:
        return True


def _comes_in(drop: SftpDrop) -> bool:
    try:
        return bool(run_client(drop, list_inbox) == ["a"])
    except (asyncssh.Error, OSError):
        return False


def test_upload_over_quota_stops_at_quota(serve: Serve, lines: ListenerPool) -> None:
    drop = serve(quota=5 * MEGABYTE)
    block = bytes(262_144 - 2048)
    sent = 0

    async def work(sftp: asyncssh.SFTPClient) -> None:
        nonlocal sent
        file = await sftp.open("inbox/big.bin", "wb")
        try:
            for number in range(10_000 * MEGABYTE // len(block)):
                await file.write(block, number * len(block))
                sent += len(block)
        finally:
            assert count_buffered_bytes(lines) == sent, "bytes over the quota are not buffered"
            await file.close()

    with pytest.raises(asyncssh.SFTPFailure, match="may hold 5000000 bytes"):
        run_client(drop, work)
    assert 4 * MEGABYTE < sent <= 5 * MEGABYTE
    assert count_buffered_bytes(lines) == 0
    assert {path: len(data) for path, data in drop.state.records.items()} == {"inbox/big.bin": sent}
    assert drop.state.volume.incomplete == {"inbox/big.bin"}
    (refused,) = drop.events("sandbox.refused")
    assert isinstance(refused, RequestRefused)
    assert (refused.status, refused.code) == (507, "quota")


def test_client_that_ignores_refused_writes_uses_bounded_memory(serve: Serve, lines: ListenerPool) -> None:
    """A client sends a gigabyte over the quota and never reads the replies."""
    drop, other = serve(quota=5 * MEGABYTE), serve({"inbox/a": b"a"})
    before = peak_memory()
    block = bytes(200_000)

    async def work(session: RawSession) -> None:
        _, handle = await session.ask(
            PacketType.OPEN, struct.pack(">I", 1) + encode_string(b"inbox/b") + struct.pack(">II", 26, 0)
        )
        for number in range(300):
            session.stdin.write(
                encode_string(
                    bytes([PacketType.WRITE])
                    + bytes(4)
                    + handle
                    + struct.pack(">Q", number * len(block))
                    + encode_string(block)
                )
            )
            await session.stdin.drain()
            if number % 100 == 0:
                assert await run_connected(other, list_inbox) == ["a"]

    run_within(60, run_raw_session(drop, work))
    assert peak_memory() - before < 100 * MEGABYTE
    assert wait_until(lambda: count_buffered_bytes(lines) == 0)
    assert wait_until(lambda: drop.state.volume.incomplete == {"inbox/b"})
    assert len(drop.state.records["inbox/b"]) == 5 * MEGABYTE


def test_client_that_never_reads_replies_uses_bounded_memory(serve: Serve) -> None:
    """A client requests two gigabytes and reads no reply."""
    drop = serve({"inbox/a": bytes(MEGABYTE)})
    before = peak_memory()

    async def work() -> None:
        async with asyncssh.connect(
            "127.0.0.1", drop.port, username=drop.user, password=drop.password, known_hosts=None, config=None
        ) as connection:
            stdin, stdout, _ = await connection.open_session(subsystem="sftp", encoding=None, window=1000)
            session = RawSession(stdin, stdout)
            await session.ask(PacketType.INIT, struct.pack(">I", 3))
            _, handle = await session.ask(
                PacketType.OPEN, struct.pack(">I", 1) + encode_string(b"inbox/a") + struct.pack(">II", 1, 0)
            )
            for _ in range(10_000):
                stdin.write(
                    encode_string(bytes([PacketType.READ]) + bytes(4) + handle + struct.pack(">QI", 0, 250_000))
                )
            assert await run_connected(drop, list_inbox) == ["a"]

    run_within(60, work())
    assert peak_memory() - before < 100 * MEGABYTE


def test_open_handles_are_limited(serve: Serve) -> None:
    drop = serve({"inbox/a": b"a"})

    async def work(session: RawSession) -> None:
        opened, refused = [], 0
        for number in range(10_000):
            kind, path = (
                (PacketType.OPENDIR, encode_string(b"inbox"))
                if number % 2
                else (PacketType.OPEN, encode_string(b"inbox/a") + bytes(8))
            )
            answered, body = await session.ask(kind, struct.pack(">I", 1) + path)
            if answered == PacketType.HANDLE:
                opened.append(body)
            else:
                refused += 1
            if refused > 1000:
                break
        assert len(opened) == MAX_HANDLES
        for handle in opened:
            assert await session.code(PacketType.CLOSE, handle) is StatusCode.OK
        answered, _ = await session.ask(PacketType.OPENDIR, struct.pack(">I", 1) + encode_string(b"inbox"))
        assert answered == PacketType.HANDLE

    run_within(60, run_raw_session(drop, work))


def test_channels_are_limited(serve: Serve) -> None:
    drop = serve()

    async def work() -> int:
        async with asyncssh.connect(
            "127.0.0.1", drop.port, username=drop.user, password=drop.password, known_hosts=None, config=None
        ) as connection:
            for number in range(50):
                try:
                    await connection.open_session(subsystem="sftp", encoding=None)
                except asyncssh.ChannelOpenError:
                    return number
        return 50

    assert run_within(30, work()) == 10


@pytest.mark.slow
def test_folder_with_twenty_thousand_files_is_listed(serve: Serve) -> None:
    drop = serve({f"inbox/{number:06}.hl7": b"x" for number in range(20_000)})

    async def work(sftp: asyncssh.SFTPClient) -> None:
        names = [str(entry.filename) async for entry in sftp.scandir("inbox")]
        assert len(names) == 20_002
        assert names[2] == "000000.hl7"
        assert names[-1] == "019999.hl7"
        for _ in range(4):
            await sftp.listdir("archive")

    run_client(drop, work)


SCP = [
    b"C0644 5 ../out\nhello\0",
    b"C0644 5 a/b\nhello\0",
    b"C0644 -1 a\nhello\0",
    b"C0644 99999999999999999999 a\n",
    b"C0644 x a\n",
    b"D0755 0 ..\n",
    b"D0755 0 d\n" * 200,
    b"T99999999999999999999 0 0 0\n",
    b"Tx\n",
    b"E\n" * 20,
    b"\x01no\n\x02gone\n",
    b"nonsense\n",
    b"C" + b"x" * 2_000_000,
    b"\xff\xfe\n",
]


@pytest.mark.parametrize("data", SCP, ids=range(len(SCP)))
def test_invalid_scp_input_is_refused(serve: Serve, data: bytes) -> None:
    drop = serve()

    async def work() -> None:
        async with asyncssh.connect(
            "127.0.0.1", drop.port, username=drop.user, password=drop.password, known_hosts=None, config=None
        ) as connection:
            process = await connection.create_process("scp -r -t inbox", encoding=None)
            process.stdin.write(data)
            process.stdin.write_eof()
            await process.wait()
        assert await run_connected(drop, list_inbox) in ([], ["d"])

    run_within(30, work())
    assert all(path.startswith("inbox/") for path in drop.state.records)
    assert drop.playground.broken is None
