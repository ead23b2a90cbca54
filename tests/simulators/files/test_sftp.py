"""Tests of the SFTP listener: the same log and faults as over HTTP, and isolation between sandboxes."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncssh
import pytest

from clerkship.events.lifecycle import RequestAnswered, RequestRefused
from clerkship.events.request_line import describe_unauthenticated_requests, render_event_request
from clerkship.playground.listeners import ListenerPool
from clerkship.sandbox.faults.request_faults import DropFault, ErrorFault, LatencyFault, TruncatedFault
from clerkship.simulators.files.events import FileRead, FileWritten
from clerkship.simulators.files.sftp.listener import LIMITS, Sftp
from tests.simulators.files.conftest import Serve
from tests.simulators.files.served import SftpDrop
from tests.waiting import wait_until

Work = Callable[[asyncssh.SFTPClient], Coroutine[Any, Any, Any]]


async def run_connected(drop: SftpDrop, work: Work, **options: Any) -> Any:
    """Run work with asyncssh's client, with the drop's credentials unless options say otherwise."""
    arguments = {"username": drop.user, "password": drop.password, "client_keys": None, "agent_path": None} | options
    async with (
        asyncssh.connect("127.0.0.1", drop.port, known_hosts=None, config=None, **arguments) as connection,
        connection.start_sftp_client() as sftp,
    ):
        return await work(sftp)


def run_client(drop: SftpDrop, work: Work, **options: Any) -> Any:
    """Run work with asyncssh's client, and wait for it."""
    return asyncio.run(asyncio.wait_for(run_connected(drop, work, **options), 60))


async def list_inbox(sftp: asyncssh.SFTPClient) -> list[str]:
    return sorted(str(name) for name in await sftp.listdir("inbox") if name not in (".", ".."))


async def put(sftp: asyncssh.SFTPClient, path: str, data: bytes) -> None:
    """Write a whole file."""
    async with sftp.open(path, "wb") as file:
        await file.write(data)


async def get(sftp: asyncssh.SFTPClient, path: str) -> bytes:
    """Read a whole file."""
    async with sftp.open(path, "rb") as file:
        data: bytes = await file.read()
        return data


def test_log_over_sftp_equals_log_over_http(serve: Serve) -> None:
    """Payloads are equal; only the transport differs."""
    dataset = {"inbox/a.csv": b"1,2\n"}
    one, other = serve(dataset), serve(dataset)

    async def work(sftp: asyncssh.SFTPClient) -> None:
        await list_inbox(sftp)
        await get(sftp, "inbox/a.csv")
        await put(sftp, "outbound/b.bin", bytes(range(256)) * 100)
        await sftp.rename("inbox/a.csv", "archive/a.csv")
        await sftp.mkdir("outbound/sent")
        await sftp.remove("outbound/b.bin")
        await sftp.rmdir("outbound/sent")
        with pytest.raises(asyncssh.SFTPNoSuchFile):
            await sftp.remove("outbound/b.bin")

    run_client(one, work)
    drop = other.handle
    drop._json("GET", "/folders/inbox")
    drop.read("inbox/a.csv")
    drop.write("outbound/b.bin", bytes(range(256)) * 100)
    drop.request("POST", "/rename", body=b'{"from": "inbox/a.csv", "to": "archive/a.csv"}')
    drop.request("PUT", "/folders/outbound/sent")
    drop.delete("outbound/b.bin")
    drop.request("DELETE", "/folders/outbound/sent")
    with pytest.raises(Exception, match="there is no file"):
        drop.delete("outbound/b.bin")
    looked = [payload for payload in one.events("") if isinstance(payload, RequestAnswered)]
    assert {payload.operation for payload in looked} == {"stat", "space_for"}  # requests that the client adds itself
    assert [payload for payload in one.events("") if payload not in looked] == other.events("")
    lines = [render_event_request(event) for event in one.playground.log.events]
    assert {"read /inbox/a.csv → 4 bytes", "write /outbound/b.bin → 25,600 bytes"} <= {*lines}
    assert "rename /inbox/a.csv to /archive/a.csv → ok" in lines
    assert lines[-1] == "remove /outbound/b.bin → there is no file outbound/b.bin"
    assert list(one.state.volume.paths()) == list(other.state.volume.paths())


def test_same_actions_give_same_log_bytes(serve: Serve) -> None:
    def run() -> bytes:
        drop = serve({"inbox/a.csv": b"1,2\n"})

        async def work(sftp: asyncssh.SFTPClient) -> None:
            await put(sftp, "outbound/b", b"b" * 100_000)
            await get(sftp, "outbound/b")
            await list_inbox(sftp)

        run_client(drop, work)
        data: bytes = drop.playground.log.data()
        for secret in (drop.user, drop.user.upper(), drop.password):
            assert secret.encode() not in data
        return data

    assert run() == run()


def test_connection_info_is_sufficient_and_stable(serve: Serve) -> None:
    drop = serve({"inbox/a": b""})
    assert drop.connection_info == drop.handle.listeners["sftp"]
    assert set(drop.connection_info) == {"host", "port", "user", "password", "private_key", "host_key"}
    key = asyncssh.import_private_key(str(drop.connection_info["private_key"]))
    hosts = asyncssh.import_known_hosts(str(drop.connection_info["host_key"]))

    async def work() -> list[str]:
        async with (
            asyncssh.connect(
                str(drop.connection_info["host"]),
                drop.port,
                username=drop.user,
                client_keys=[key],
                known_hosts=hosts,
                config=None,
            ) as connection,
            connection.start_sftp_client() as sftp,
        ):
            return await list_inbox(sftp)

    assert asyncio.run(work()) == ["a"]
    other = serve()
    assert other.port == drop.port
    assert other.connection_info["host_key"] == drop.connection_info["host_key"]
    assert other.connection_info["private_key"] != drop.connection_info["private_key"]
    assert other.user != drop.user


def test_credentials_of_other_sandbox_are_rejected(serve: Serve) -> None:
    one, other = serve({"inbox/one": b"1"}), serve({"inbox/other": b"2"})
    assert run_client(one, list_inbox) == ["one"]
    assert run_client(other, list_inbox) == ["other"]
    key = asyncssh.import_private_key(str(other.connection_info["private_key"]))
    strange = asyncssh.generate_private_key("ssh-ed25519")
    tries: list[dict[str, Any]] = [
        {"password": other.password},
        {"password": ""},
        {"password": "x" * 10_000},
        {"username": "root"},
        {"username": ""},
        {"username": "ü" * 50},
        {"password": None, "client_keys": [key]},
        {"password": None, "client_keys": [strange]},
        {"username": other.user},
    ]
    for options in tries:
        with pytest.raises((asyncssh.PermissionDenied, asyncssh.ConnectionLost)):
            run_client(one, list_inbox, **options)
    assert [len(drop.events("")) for drop in (one, other)] == [1, 1], "failed logins are not logged"
    assert run_client(one, list_inbox, username=one.user.upper()) == ["one"]


def test_wrong_passwords_are_recorded_outside_log(serve: Serve) -> None:
    drop = serve({"inbox/one": b"1"})
    with pytest.raises(asyncssh.PermissionDenied):
        run_client(drop, list_inbox, password="wrong")
    count, line = describe_unauthenticated_requests(drop.playground.sidecar.data())
    assert count == "1 request without a valid credential, not in the log"
    assert line == "login /drop → wrong user or password"
    assert drop.events("") == []


def test_login_attempts_are_limited(serve: Serve) -> None:
    drop = serve()
    keys = [asyncssh.generate_private_key("ssh-ed25519") for _ in range(12)]
    with pytest.raises((asyncssh.DisconnectError, asyncssh.ConnectionLost), match=r"(?i)too many|lost"):
        run_client(drop, list_inbox, client_keys=keys, password=None)


def test_concurrent_sandboxes_are_isolated(serve: Serve) -> None:
    drops = [serve() for _ in range(4)]

    async def work(number: int) -> tuple[list[str], bytes]:
        async def inside(sftp: asyncssh.SFTPClient) -> tuple[list[str], bytes]:
            for count in range(5):
                await put(sftp, f"inbox/{number}-{count}", bytes([number]) * 70_000)
            return await list_inbox(sftp), await get(sftp, f"inbox/{number}-3")

        found: tuple[list[str], bytes] = await run_connected(drops[number], inside)
        return found

    async def all_of_them() -> list[tuple[list[str], bytes]]:
        return await asyncio.gather(*(work(number) for number in range(4)))

    for number, (names, data) in enumerate(asyncio.run(all_of_them())):
        assert names == [f"{number}-{count}" for count in range(5)]
        assert data == bytes([number]) * 70_000


def test_ended_run_closes_and_refuses_connections(serve: Serve) -> None:
    drop = serve({"inbox/a": b"a"})

    async def work() -> None:
        async with asyncssh.connect(
            "127.0.0.1", drop.port, username=drop.user, password=drop.password, known_hosts=None, config=None
        ) as connection:
            async with connection.start_sftp_client() as sftp:
                assert await list_inbox(sftp) == ["a"]
                drop.end()
                with pytest.raises((asyncssh.SFTPConnectionLost, asyncssh.SFTPNoConnection, asyncssh.ConnectionLost)):
                    await sftp.listdir("inbox")
            await asyncio.wait_for(connection.wait_closed(), 10)

    asyncio.run(work())
    with pytest.raises(asyncssh.PermissionDenied):
        run_client(drop, list_inbox)
    key = asyncssh.import_private_key(str(drop.connection_info["private_key"]))
    with pytest.raises(asyncssh.PermissionDenied):
        run_client(drop, list_inbox, password=None, client_keys=[key])


def test_idle_connection_is_closed_when_run_ends(serve: Serve) -> None:
    drop = serve()

    async def work() -> None:
        async with asyncssh.connect(
            "127.0.0.1", drop.port, username=drop.user, password=drop.password, known_hosts=None, config=None
        ) as connection:
            drop.end()
            await asyncio.wait_for(connection.wait_closed(), 10)

    asyncio.run(work())


def test_idle_connection_times_out(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    monkeypatch.setattr(Sftp, "limits", replace(LIMITS, idle=0.3))
    drop = serve()

    async def work(sftp: asyncssh.SFTPClient) -> None:
        await asyncio.wait_for(sftp.wait_closed(), 10)
        with pytest.raises((asyncssh.SFTPNoConnection, asyncssh.SFTPConnectionLost)):
            await sftp.listdir("inbox")

    run_client(drop, work)


def test_connections_per_sandbox_are_limited(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    monkeypatch.setattr(Sftp, "limits", replace(LIMITS, per_sandbox=2))
    drop, other = serve(), serve({"inbox/a": b"a"})

    async def third(_: asyncssh.SFTPClient) -> None:
        await run_connected(drop, list_inbox)

    async def second(_: asyncssh.SFTPClient) -> list[str]:
        with pytest.raises((asyncssh.DisconnectError, asyncssh.ChannelOpenError), match=r"(?i)too many|closed|lost"):
            await run_connected(drop, third)
        found: list[str] = await run_connected(other, list_inbox)
        return found

    assert run_client(drop, second) == ["a"]
    assert run_client(drop, list_inbox) == []


def test_ended_run_leaves_no_account(serve: Serve, lines: ListenerPool) -> None:
    drop = serve()
    run_client(drop, list_inbox)
    listener = lines._running["files", "sftp"].listener
    assert isinstance(listener, Sftp)
    assert len(listener._accounts) == 1
    drop.end()
    assert wait_until(lambda: not listener._accounts)


def test_closing_listener_stores_open_uploads(serve: Serve, lines: ListenerPool) -> None:
    drop = serve()

    async def work(sftp: asyncssh.SFTPClient) -> None:
        file = await sftp.open("inbox/half", "wb")
        await file.write(b"half")
        await asyncio.to_thread(lines.close)

    run_client(drop, work)
    (written,) = drop.events("files.file.written")
    assert isinstance(written, FileWritten)
    assert (written.data, written.complete) == (b"half", False)


def test_interrupted_upload_is_stored_as_incomplete(serve: Serve) -> None:
    drop = serve()

    async def work(sftp: asyncssh.SFTPClient) -> None:
        file = await sftp.open("inbox/half.bin", "wb")
        await file.write(b"only so f")
        empty = await sftp.open("inbox/empty.bin", "wb")
        assert empty is not None
        whole = await sftp.open("inbox/whole.bin", "wb")
        await whole.close()
        sftp.exit()

    run_client(drop, work)
    assert wait_until(lambda: len(drop.events("files.file.written")) == 3)
    written = [event for event in drop.events() if isinstance(event, FileWritten)]
    assert [(event.path, event.data, event.complete) for event in written] == [
        ("inbox/whole.bin", b"", True),
        ("inbox/half.bin", b"only so f", False),
        ("inbox/empty.bin", b"", False),
    ]


def test_read_only_drop_refuses_open_for_writing(serve: Serve) -> None:
    drop = serve({"inbox/a": b"a"}, read_only=True)

    async def work(sftp: asyncssh.SFTPClient) -> None:
        assert await get(sftp, "inbox/a") == b"a"
        for way in ("wb", "ab", "r+b"):
            with pytest.raises(asyncssh.SFTPPermissionDenied):
                await sftp.open("inbox/a", way)
        for change in (sftp.remove("inbox/a"), sftp.mkdir("b"), sftp.rename("inbox/a", "inbox/b")):
            with pytest.raises(asyncssh.SFTPPermissionDenied):
                await change

    run_client(drop, work)
    refused = [event for event in drop.events("") if isinstance(event, RequestRefused)]
    assert [event.status for event in refused] == [403] * 6


def test_statvfs_reports_free_space(serve: Serve) -> None:
    drop = serve(quota=1_000_000)

    async def work(sftp: asyncssh.SFTPClient) -> tuple[int, int]:
        await put(sftp, "inbox/a", bytes(300_000))
        space = await sftp.statvfs("/")
        return space.blocks * space.frsize, space.bavail * space.frsize

    assert run_client(drop, work) == (1_000_000, 700_000)


def test_copy_data_between_open_files(serve: Serve) -> None:
    drop = serve({"inbox/a": bytes(range(256)) * 40_000})

    async def work(sftp: asyncssh.SFTPClient) -> None:
        assert sftp.supports_remote_copy
        async with sftp.open("inbox/a", "rb") as source, sftp.open("inbox/b", "wb") as target:
            await sftp.remote_copy(source, target)
            await target.fsync()

    run_client(drop, work)
    assert drop.state.records["inbox/b"] == drop.state.records["inbox/a"]
    assert [type(event) for event in drop.events("files.file.")] == [FileRead, FileWritten]


def test_drop_fault_breaks_connection(serve: Serve) -> None:
    drop = serve({"inbox/a": b"a"})
    drop.playground.inject(DropFault(operation="read_file"))

    async def work(sftp: asyncssh.SFTPClient) -> None:
        assert await list_inbox(sftp) == ["a"]
        await get(sftp, "inbox/a")

    with pytest.raises((asyncssh.SFTPConnectionLost, asyncssh.ConnectionLost)):
        run_client(drop, work)


def test_error_fault_replaces_reply(serve: Serve) -> None:
    drop = serve()
    drop.playground.inject(ErrorFault(operation="write_file", times=1))

    async def work(sftp: asyncssh.SFTPClient) -> None:
        with pytest.raises(asyncssh.SFTPFailure):
            await put(sftp, "inbox/a", b"a")
        await put(sftp, "inbox/b", b"b")

    run_client(drop, work)
    assert list(drop.state.records) == ["inbox/b"]


def test_latency_fault_advances_simulated_clock(serve: Serve) -> None:
    drop = serve({"inbox/a": b"a"})
    drop.playground.inject(LatencyFault(operation="read_file", by=timedelta(minutes=5)))
    before = drop.playground.now

    async def work(sftp: asyncssh.SFTPClient) -> None:
        assert await list_inbox(sftp) == ["a"]
        assert await get(sftp, "inbox/a") == b"a"

    run_client(drop, work)
    assert timedelta(minutes=5) <= drop.playground.now - before < timedelta(minutes=6)
    assert len(drop.events("fault.")) == 1


def test_latency_fault_does_not_delay_other_clients(serve: Serve) -> None:
    drop, other = serve({"inbox/a": b"a"}, time="paced"), serve({"inbox/b": b"b"})
    drop.playground.inject(LatencyFault(operation="read_file", by=timedelta(seconds=1.5)))

    async def slow(sftp: asyncssh.SFTPClient) -> None:
        reading = asyncio.create_task(get(sftp, "inbox/a"))
        assert await run_connected(other, list_inbox) == ["b"]
        assert not reading.done()
        assert await reading == b"a"

    run_client(drop, slow)


def test_truncated_fault_cuts_download(serve: Serve) -> None:
    drop = serve({"inbox/a": bytes(50_000)})
    drop.playground.inject(TruncatedFault(operation="read_file", keep=20_000))
    got: list[Any] = []

    async def work(sftp: asyncssh.SFTPClient) -> None:
        async with sftp.open("inbox/a", "rb", block_size=1000) as file:
            while data := await file.read(1000):
                got.append(data)

    with pytest.raises((asyncssh.SFTPConnectionLost, asyncssh.ConnectionLost)):
        run_client(drop, work)
    assert sum(map(len, got)) == 20_000
