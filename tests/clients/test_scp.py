"""OpenSSH's scp in both directions, over SFTP and over its older protocol."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from clerkship.events.lifecycle import RequestRefused
from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from clerkship.simulators.files.events import FileRead, FileWritten
from tests.clients.sftp_programs import SftpPrograms
from tests.simulators.files.served import SftpDrop

DATASET = {"inbox/a.txt": b"A", "inbox/b.txt": b"", "inbox/deep/er/c.bin": bytes(range(256)) * 3000}
WAYS = pytest.mark.parametrize("way", [[], ["-O"]], ids=["over sftp", "legacy"])
LONG_AGO = 1_700_000_000


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[SftpPrograms]:
    """Return programs for a drop with three files and a quota of one megabyte."""
    gateway = Gateway()
    lines = ListenerPool(gateway)
    yield SftpPrograms(SftpDrop(gateway, lines, DATASET, quota=1_000_000), tmp_path)
    lines.close()


@WAYS
def test_scp_copies_file_both_ways(programs: SftpPrograms, way: list[str]) -> None:
    data = os.urandom(600_000)
    (programs.files / "für alle.bin").write_bytes(data)
    done = programs.scp(*way, "für alle.bin", "drop:outbound/")
    assert done.returncode == 0, done.stderr
    assert programs.drop.state.records["outbound/für alle.bin"] == data
    done = programs.scp(*way, "drop:inbox/deep/er/c.bin", "back.bin")
    assert done.returncode == 0, done.stderr
    assert (programs.files / "back.bin").read_bytes() == DATASET["inbox/deep/er/c.bin"]
    assert [type(event) for event in programs.drop.events("files.file.")] == [FileWritten, FileRead]


@WAYS
def test_scp_copies_folder_with_times_both_ways(programs: SftpPrograms, way: list[str]) -> None:
    done = programs.scp(*way, "-rp", "drop:inbox", "got")
    assert done.returncode == 0, done.stderr
    got = programs.files / "got"
    found = {f"inbox/{path.relative_to(got)}": path.read_bytes() for path in got.rglob("*") if path.is_file()}
    assert found == DATASET
    os.utime(got / "a.txt", (LONG_AGO, LONG_AGO))
    (got / "deep" / "er" / "c.bin").write_bytes(b"short")
    done = programs.scp(*way, "-rp", "got", "drop:archive")
    assert done.returncode == 0, done.stderr
    state = programs.drop.state
    assert list(state.volume.paths("archive")) == [
        "archive/got/a.txt",
        "archive/got/b.txt",
        "archive/got/deep/er/c.bin",
    ]
    assert int(state.volume.modified("archive/got/a.txt").timestamp()) == LONG_AGO
    assert state.records["archive/got/b.txt"] == b""


@WAYS
def test_scp_expands_wildcards(programs: SftpPrograms, way: list[str]) -> None:
    done = programs.scp(*way, "drop:inbox/*.txt", ".")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in programs.files.iterdir()) == ["a.txt", "b.txt"]


@WAYS
def test_scp_reports_missing_and_oversized_files(programs: SftpPrograms, way: list[str]) -> None:
    done = programs.scp(*way, "drop:inbox/nothing", ".")
    assert done.returncode == 1
    assert any(words in done.stderr.lower() for words in ("no such file", "no matches found"))
    done = programs.scp(*way, "drop:inbox", ".")
    assert done.returncode == 1
    assert "not a regular file" in done.stderr.lower()
    (programs.files / "big").write_bytes(bytes(1_100_000))
    done = programs.scp(*way, "big", "drop:outbound/")
    assert done.returncode == 1
    assert programs.drop.state.volume.incomplete == (set() if way else {"outbound/big"}), (
        "-O says first how large it is"
    )
    assert set(programs.drop.state.volume.incomplete) == {path for path in programs.drop.state.records if "big" in path}
    refused = programs.drop.events("sandbox.refused")[-1]
    assert isinstance(refused, RequestRefused)
    assert refused.code == "quota"
    (programs.files / "small").write_bytes(b"fits")
    assert programs.scp(*way, "small", "drop:outbound/").returncode == 0


def test_scp_copies_others_if_one_file_is_refused(programs: SftpPrograms) -> None:
    for name in ("one", "two"):
        (programs.files / name).write_text(name)
    (programs.files / "big").write_bytes(bytes(1_100_000))
    done = programs.scp("-O", "one", "big", "two", "drop:outbound")
    assert done.returncode == 1
    assert "may hold 1000000 bytes" in done.stderr
    assert list(programs.drop.state.volume.paths("outbound")) == ["outbound/one", "outbound/two"]
