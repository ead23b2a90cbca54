"""OpenSSH's sftp drives a drop."""

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from clerkship.simulators.files.events import FileRead, FileRenamed, FileStamped, FileWritten, FolderListed, FolderMade
from tests.clients.sftp_programs import SftpPrograms
from tests.simulators.files.served import SftpDrop

DATASET = {"inbox/referral.csv": b"mrn,reason\n1,knee\n", "inbox/für Ärzte.txt": "Grüße".encode()}
LONG_AGO = 1_700_000_000


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[SftpPrograms]:
    """Return programs for a drop with two files."""
    gateway = Gateway()
    lines = ListenerPool(gateway)
    yield SftpPrograms(SftpDrop(gateway, lines, DATASET), tmp_path)
    lines.close()


def test_sftp_lists_like_ls(programs: SftpPrograms) -> None:
    done = programs.sftp("ls -l", "ls -la inbox", "ls -ln inbox")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[-1] for line in lines[1:4]] == ["archive", "inbox", "outbound"]
    assert lines[1].startswith("drwxr-xr-x")
    assert any(line.startswith("-rw-r--r--") and line.endswith("referral.csv") and " 18 " in line for line in lines)
    assert any(line.endswith("für Ärzte.txt") for line in lines)
    assert any(line.split()[2:4] == ["1000", "1000"] for line in lines)
    assert [event.count for event in programs.drop.events() if isinstance(event, FolderListed)] == [3, 2, 2]


def test_sftp_puts_gets_renames_and_removes(programs: SftpPrograms) -> None:
    data = os.urandom(700_000)
    (programs.files / "up.bin").write_bytes(data)
    done = programs.sftp(
        "get inbox/referral.csv",
        'get "inbox/für Ärzte.txt" letter.txt',
        "put up.bin outbound/up.bin.tmp",
        "rename outbound/up.bin.tmp outbound/up.bin",
        "get outbound/up.bin down.bin",
        "mkdir outbound/sent",
        "rename outbound/up.bin outbound/sent/up.bin",
        "chmod 600 outbound/sent/up.bin",
        "rm inbox/referral.csv",
        "mkdir gone",
        "rmdir gone",
        "ls outbound/sent",
        "df -h",
    )
    assert done.returncode == 0, done.stderr
    assert (programs.files / "referral.csv").read_bytes() == DATASET["inbox/referral.csv"]
    assert (programs.files / "letter.txt").read_text() == "Grüße"
    assert (programs.files / "down.bin").read_bytes() == data
    assert "outbound/sent/up.bin" in done.stdout
    drop = programs.drop
    assert list(drop.state.volume.paths()) == ["inbox/für Ärzte.txt", "outbound/sent/up.bin"]
    kinds = [type(event) for event in drop.events() if not isinstance(event, FolderListed)]
    assert kinds[:6] == [FileRead, FileRead, FileWritten, FileRenamed, FileRead, FolderMade]
    assert drop.events("sandbox.refused") == []


def test_sftp_keeps_times_and_ignores_permissions(programs: SftpPrograms) -> None:
    local = programs.files / "kept.txt"
    local.write_text("kept")
    local.chmod(0o640)
    os.utime(local, (LONG_AGO, LONG_AGO))
    done = programs.sftp("put -p kept.txt inbox/", "get -p inbox/kept.txt back.txt", "ls -l inbox/kept.txt")
    assert done.returncode == 0, done.stderr
    back = (programs.files / "back.txt").stat()
    assert int(back.st_mtime) == LONG_AGO
    assert stat.S_IMODE(back.st_mode) == 0o644
    assert " 2023 " in done.stdout or "Nov 14 22:13" in done.stdout
    written, stamped = (event for event in programs.drop.events() if isinstance(event, FileWritten | FileStamped))
    assert isinstance(written, FileWritten)
    assert isinstance(stamped, FileStamped)
    assert stamped.modified == datetime.fromtimestamp(LONG_AGO, UTC).isoformat()


def test_sftp_resumes_interrupted_transfer(programs: SftpPrograms) -> None:
    data = os.urandom(300_000)
    (programs.files / "long.bin").write_bytes(data)
    programs.drop.handle.write("inbox/long.bin", data[:100_000])
    programs.drop.handle.write("inbox/half.bin", data)
    (programs.files / "half.bin").write_bytes(data[:200_000])
    before = len(programs.drop.events())
    done = programs.sftp("reput long.bin inbox/long.bin", "reget inbox/half.bin half.bin")
    assert done.returncode == 0, done.stderr
    assert programs.drop.state.records["inbox/long.bin"] == data
    assert (programs.files / "half.bin").read_bytes() == data
    written, read = programs.drop.events()[before:]
    assert isinstance(written, FileWritten), "resuming an upload must not read the file"
    assert written.size == len(data)
    assert isinstance(read, FileRead)


def test_sftp_errors_are_protocol_errors(programs: SftpPrograms) -> None:
    (programs.files / "x").write_text("x")
    done = programs.sftp(
        "-get inbox/nothing",
        "-put x nowhere/x",
        "-rmdir inbox",
        "-mkdir inbox",
        "-ln -s inbox/referral.csv link",
        "-put x inbox",
        "-chown 0 inbox/referral.csv",
        "-rm archive",
        "-cd /../../etc",
        "pwd",
    )
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    for words in (
        'File "/inbox/nothing" not found.',
        'dest open "/nowhere/x": No such file or directory',
        'remote rmdir "/inbox": Failure',
        'remote mkdir "/inbox": Failure',
        'remote symlink file "inbox/referral.csv" to "/link": Operation unsupported',
        'remote setstat "/inbox/referral.csv": Operation unsupported',
        "remote delete /archive: Failure",
        "stat remote: No such file or directory",
    ):
        assert words in said, (words, said)
    assert "Remote working directory: /" in done.stdout
    assert programs.drop.state.records["inbox/x"] == b"x"  # put into a folder keeps the name


def test_sftp_logs_in_with_password(programs: SftpPrograms) -> None:
    done = programs.sftp("ls inbox/referral.csv", password=programs.drop.password)
    assert done.returncode == 0, done.stderr
    assert "inbox/referral.csv" in done.stdout
    refused = programs.sftp("ls", password="wrong")
    assert refused.returncode == 255
    assert "Permission denied (publickey" in refused.stderr


def test_commands_and_forwarding_are_refused(programs: SftpPrograms) -> None:
    there = f"{programs.drop.user}@127.0.0.1"
    way = [*programs.options(), "-p", str(programs.drop.port)]
    for command in (["id"], ["scp", "-t"], ["scp -t x; id"], []):
        done = programs.run("ssh", *way, there, *command)
        assert done.returncode != 0, command
        assert "uid=" not in done.stdout
    done = programs.run("ssh", *way, "-o", "ExitOnForwardFailure=yes", "-N", "-R", "0:127.0.0.1:22", there)
    assert done.returncode == 255
    assert "remote port forwarding failed" in done.stderr
    done = programs.run("ssh", *way, "-W", f"127.0.0.1:{programs.drop.port}", there)
    assert done.returncode == 255
    assert "open failed" in done.stderr
