"""paramiko, the client that most Python agents use."""

import base64
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from clerkship.simulators.files.events import FileRead, FileWritten
from tests.simulators.files.served import SftpDrop

LONG_AGO = 1_700_000_000


@pytest.fixture
def drop() -> Iterator[SftpDrop]:
    """Return a drop with one file."""
    gateway = Gateway()
    lines = ListenerPool(gateway)
    yield SftpDrop(gateway, lines, {"inbox/a.txt": b"line 1\nline 2\n"})
    lines.close()


@pytest.fixture
def sftp(drop: SftpDrop) -> Iterator[Any]:
    """Return a client that is logged in by password and knows the host key."""
    with paramiko.SSHClient() as client:
        kind, data = str(drop.connection_info["host_key"]).split()[1:]
        client.get_host_keys().add(f"[127.0.0.1]:{drop.port}", kind, paramiko.Ed25519Key(data=base64.b64decode(data)))
        client.connect(
            "127.0.0.1", drop.port, drop.user, drop.password, allow_agent=False, look_for_keys=False, timeout=20
        )
        with client.open_sftp() as opened:
            yield opened


def test_paramiko_logs_in_with_private_key(drop: SftpDrop) -> None:
    key = paramiko.Ed25519Key.from_private_key(io.StringIO(str(drop.connection_info["private_key"])))
    transport = paramiko.Transport(("127.0.0.1", drop.port))
    transport.connect(username=drop.user, pkey=key)
    opened = paramiko.SFTPClient.from_transport(transport)
    assert opened is not None
    assert opened.listdir("inbox") == ["a.txt"]
    transport.close()


def test_paramiko_uploads_and_downloads(drop: SftpDrop, sftp: Any, tmp_path: Path) -> None:
    data = os.urandom(500_000)
    (tmp_path / "up").write_bytes(data)
    attrs = sftp.put(str(tmp_path / "up"), "outbound/up")
    assert attrs.st_size == len(data)
    sftp.get("outbound/up", str(tmp_path / "down"))
    assert (tmp_path / "down").read_bytes() == data
    assert [type(event) for event in drop.events("files.file.")] == [FileWritten, FileRead]


def test_paramiko_lists_with_attributes(sftp: Any) -> None:
    folders = {entry.filename: entry for entry in sftp.listdir_attr(".")}
    assert sorted(folders) == ["archive", "inbox", "outbound"]
    assert stat.S_ISDIR(folders["inbox"].st_mode)
    (file,) = sftp.listdir_attr("/inbox")
    assert (file.filename, file.st_size, file.st_uid) == ("a.txt", 14, 1000)
    assert stat.S_ISREG(file.st_mode)
    assert file.longname.startswith("-rw-r--r--")
    assert sftp.stat("inbox/a.txt").st_size == sftp.lstat("/inbox/./../inbox/a.txt").st_size == 14
    assert sftp.normalize("inbox/../../../archive") == "/archive"
    sftp.chdir("inbox")
    assert sftp.getcwd() == "/inbox"


def test_paramiko_renames(drop: SftpDrop, sftp: Any) -> None:
    with sftp.open("inbox/b.txt", "w") as file:
        file.write("b")
    with pytest.raises(OSError, match="already exists"):
        sftp.rename("inbox/b.txt", "inbox/a.txt")
    sftp.posix_rename("inbox/b.txt", "inbox/a.txt")
    assert drop.state.records["inbox/a.txt"] == b"b"
    sftp.rename("inbox/a.txt", "archive/a.txt")
    with pytest.raises(FileNotFoundError):
        sftp.stat("inbox/a.txt")
    with pytest.raises(FileNotFoundError):
        sftp.rename("inbox/nothing", "inbox/c")


def test_paramiko_sets_times_and_truncates(drop: SftpDrop, sftp: Any) -> None:
    sftp.utime("inbox/a.txt", (LONG_AGO, LONG_AGO))
    assert sftp.stat("inbox/a.txt").st_mtime == LONG_AGO
    sftp.truncate("inbox/a.txt", 6)
    assert drop.state.records["inbox/a.txt"] == b"line 1"
    sftp.truncate("inbox/a.txt", 8)
    assert drop.state.records["inbox/a.txt"] == b"line 1\0\0"
    sftp.chmod("inbox/a.txt", 0o600)
    with pytest.raises(OSError, match="one owner"):
        sftp.chown("inbox/a.txt", 0, 0)
    with pytest.raises(FileNotFoundError):
        sftp.chmod("inbox/nothing", 0o600)


def test_paramiko_appends_and_writes_without_reading(drop: SftpDrop, sftp: Any) -> None:
    with sftp.open("inbox/a.txt", "a") as file:
        file.write("line 3\n")
        file.write("line 4\n")
    assert drop.state.records["inbox/a.txt"] == b"line 1\nline 2\nline 3\nline 4\n"
    with sftp.open("inbox/new.bin", "w") as file:
        file.seek(10)
        file.write(b"end")
        file.seek(0)
        file.write(b"begin")
    assert drop.state.records["inbox/new.bin"] == b"begin\0\0\0\0\0end"
    assert drop.events("files.file.read") == []


def test_paramiko_reads_and_writes_one_handle(drop: SftpDrop, sftp: Any) -> None:
    with sftp.open("inbox/a.txt", "r+") as file:
        assert file.read(6) == b"line 1"
        file.seek(5)
        file.write(b"X")
        file.seek(0)
        assert file.readline() == "line X\n"
    assert drop.state.records["inbox/a.txt"] == b"line X\nline 2\n"
    assert [type(event) for event in drop.events("files.file.")] == [FileRead, FileWritten]


def test_open_flags_are_respected(drop: SftpDrop, sftp: Any) -> None:
    with pytest.raises(OSError, match="already exists"):
        sftp.open("inbox/a.txt", "wx")
    with pytest.raises(FileNotFoundError):
        sftp.open("inbox/nothing", "r+")
    with pytest.raises(FileNotFoundError):
        sftp.open("inbox/nothing", "r")
    with pytest.raises(OSError, match="is a folder"):
        sftp.open("inbox", "w")
    with pytest.raises(OSError, match="is a folder"):
        sftp.open("inbox", "r")
    with sftp.open("inbox/empty", "wx"):
        pass
    assert drop.state.records["inbox/empty"] == b""
    assert not drop.state.volume.incomplete


def test_upload_is_visible_while_growing(drop: SftpDrop, sftp: Any) -> None:
    with sftp.open("inbox/slow.bin", "w") as file:
        file.set_pipelined(True)
        file.write(b"x" * 40_000)
        file.flush()
        assert sftp.stat("inbox/slow.bin").st_size == 40_000
        assert file.stat().st_size == 40_000
        assert "slow.bin" in sftp.listdir("inbox")
        assert "inbox/slow.bin" not in drop.state.records, "the file is stored when it is closed"
    assert drop.state.records["inbox/slow.bin"] == b"x" * 40_000


def test_open_file_is_not_affected_by_changes(drop: SftpDrop, sftp: Any) -> None:
    with sftp.open("inbox/a.txt") as file:
        drop.handle.write("inbox/a.txt", b"something else")
        assert file.read() == b"line 1\nline 2\n"
        assert file.stat().st_size == 14
    assert len(drop.events("files.file.read")) == 1
