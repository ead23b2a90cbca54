"""lftp mirrors folders and resumes uploads."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from tests.clients.sftp_programs import SftpPrograms
from tests.simulators.files.served import SftpDrop


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[SftpPrograms]:
    """Return programs for a drop with a few files in folders."""
    gateway = Gateway()
    lines = ListenerPool(gateway)
    dataset = {f"inbox/day{number % 3}/{number}.txt": b"x" * number for number in range(12)}
    yield SftpPrograms(SftpDrop(gateway, lines, dataset), tmp_path)
    lines.close()


def test_lftp_mirrors_both_ways(programs: SftpPrograms) -> None:
    done = programs.lftp("mirror inbox got", "mirror -R got outbound/again", "cls -l outbound/again")
    assert done.returncode == 0, done.stderr
    got = {str(path.relative_to(programs.files / "got")): path.read_bytes() for path in programs.files.rglob("*.txt")}
    assert len(got) == 12
    records = programs.drop.state.records
    assert {path: records[f"outbound/again/{path}"] for path in got} == got


def test_second_mirror_transfers_nothing(programs: SftpPrograms) -> None:
    assert programs.lftp("mirror inbox got").returncode == 0
    before = len(programs.drop.events("files.file."))
    done = programs.lftp("mirror inbox got")
    assert done.returncode == 0, done.stderr
    assert programs.drop.events("files.file.")[before:] == [], "unchanged times and sizes: nothing is transferred"


def test_lftp_resumes_upload(programs: SftpPrograms) -> None:
    data = os.urandom(200_000)
    (programs.files / "long.bin").write_bytes(data)
    programs.drop.handle.write("outbound/long.bin", data[:50_000])
    done = programs.lftp("cd outbound", "reput long.bin", "mv long.bin done.bin", "rm -f nothing", "mkdir -p a/b")
    assert done.returncode == 0, done.stderr
    assert programs.drop.state.records["outbound/done.bin"] == data
    assert "outbound/a/b" in programs.drop.state.volume.tree
