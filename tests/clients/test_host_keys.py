"""Clients that accept only one type of host key."""

from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest

from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool
from tests.clients.sftp_programs import SftpPrograms, require_program
from tests.simulators.files.served import SftpDrop


@pytest.fixture
def drop() -> Iterator[SftpDrop]:
    """Return a drop with one file."""
    gateway = Gateway()
    lines = ListenerPool(gateway)
    yield SftpDrop(gateway, lines, {"inbox/a": b"a"})
    lines.close()


@pytest.mark.parametrize("algorithm", ["ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-256", "rsa-sha2-512"])
def test_openssh_connects_with_each_kind_of_host_key(drop: SftpDrop, tmp_path: Path, algorithm: str) -> None:
    require_program("ssh")
    programs = SftpPrograms(drop, tmp_path)
    known = tmp_path / "learned"
    options = [f"HostKeyAlgorithms={algorithm}", "StrictHostKeyChecking=accept-new", f"UserKnownHostsFile={known}"]
    flags = [flag for option in options for flag in ("-o", option)]
    target = ["-s", f"{drop.user}@127.0.0.1", "sftp"]
    for _ in range(2):  # the key must be the same the second time
        done = programs.run("ssh", *flags, *programs.options(), "-p", str(drop.port), *target)
        assert done.returncode == 0, done.stderr
    (line,) = known.read_text().splitlines()
    assert line.split()[1] == ("ssh-rsa" if algorithm.startswith("rsa") else algorithm)


def test_paramiko_connects_to_an_rsa_host_key(drop: SftpDrop) -> None:
    transport = paramiko.Transport(("127.0.0.1", drop.port))
    transport.get_security_options().key_types = ("rsa-sha2-256",)
    transport.connect(username=drop.user, password=drop.password)
    key = transport.get_remote_server_key()
    assert (key.get_name(), key.get_bits()) == ("ssh-rsa", 2048)
    transport.close()


def test_rsa_with_sha1_is_refused(drop: SftpDrop, tmp_path: Path) -> None:
    require_program("ssh")
    programs = SftpPrograms(drop, tmp_path)
    flags = [*programs.options(), "-o", "HostKeyAlgorithms=ssh-rsa", "-p", str(drop.port)]
    done = programs.run("ssh", *flags, "-s", f"{drop.user}@127.0.0.1", "sftp")
    assert done.returncode == 255
    assert "no matching host key type" in done.stderr
