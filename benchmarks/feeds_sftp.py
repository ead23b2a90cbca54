"""Compare our SFTP server with OpenSSH's (`internal-sftp`), using OpenSSH's client and paramiko.

    python -m benchmarks.feeds_sftp [--megabytes 256] [--files 500] [--rounds 3] [--quick]

The servers are measured in turn, in rounds; the result is the median of the rounds. OpenSSH's server runs on
loopback with its own configuration, keys and folder. All files are in memory if the machine has such a file system,
so that no disk is measured. Ours also hashes every file and logs it.
"""

import argparse
import contextlib
import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

import paramiko

from benchmarks.table import render_table, times
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators import files
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.sftp.listener import generate_key

ROOT = Path(__file__).resolve().parent.parent
SMALL = 4096
START_LIMIT = 20.0
MEMORY = Path("/dev/shm")
AIM = 0.8
ROUNDS = 3


@dataclass(frozen=True)
class Site:
    """A server with its address and credentials."""

    port: int
    user: str
    key: Path
    known_hosts: Path
    root: str
    """The folder to work in."""

    def sftp(self, *commands: str) -> float:
        """Return the seconds that OpenSSH's client takes for some commands, including its start."""
        options = {
            "UserKnownHostsFile": self.known_hosts,
            "StrictHostKeyChecking": "yes",
            "IdentityFile": self.key,
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
        }
        flags = [flag for name, value in options.items() for flag in ("-o", f"{name}={value}")]
        began = time.perf_counter()
        done = subprocess.run(
            ["sftp", "-q", "-F", "none", *flags, "-P", str(self.port), "-b", "-", f"{self.user}@127.0.0.1"],
            input="\n".join([f"cd {self.root}", *commands]),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return time.perf_counter() - began

    def paramiko(self, work: Callable[[paramiko.SFTPClient], None]) -> float:
        """Return the seconds that some work takes with paramiko, without connecting."""
        with paramiko.SSHClient() as client:
            client.load_host_keys(str(self.known_hosts))
            client.connect(
                "127.0.0.1",
                self.port,
                self.user,
                key_filename=str(self.key),
                allow_agent=False,
                look_for_keys=False,
            )
            with client.open_sftp() as sftp:
                sftp.chdir(self.root)
                began = time.perf_counter()
                work(sftp)
                return time.perf_counter() - began


class Work(NamedTuple):
    """A workload."""

    name: str
    run: Callable[[Site], float]
    bytes: int
    files: int


def serve() -> None:
    """Open a new playground for each folder read from standard input, and write its keys there."""
    gateway = Gateway()
    lines = ListenerPool(gateway)
    environment = Environment(name="desk", simulators={"drop": Simulator(kind="files")})
    config = FilesConfig(max_file=1_000_000_000, quota=1_000_000_000, folders=("work",))
    playground: Playground | None = None
    for line in sys.stdin:
        if playground is not None:  # the last one's files are given back
            playground.close()
            gateway.remove_playground(playground)
        playground = Playground(environment, {"drop": PreparedSimulator(files.SPEC, config, {})}, "bench")
        told = open_sandboxes(gateway, playground, lambda: "", lines)["drop"].listeners["sftp"]
        folder = Path(line.strip())
        _write(folder / "ours_key", str(told["private_key"]))
        _write(folder / "ours_known", f"{told['host_key']}\n")
        print(json.dumps({"port": told["port"], "user": told["user"]}), flush=True)
    lines.close()


@contextlib.contextmanager
def ours(folder: Path) -> Iterator[Callable[[], Site]]:
    """Run our server in its own process; yields a function that opens a new playground."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.feeds_sftp", "--serve"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def fresh() -> Site:
            print(folder, file=stdin, flush=True)
            told = json.loads(stdout.readline())
            return Site(told["port"], told["user"], folder / "ours_key", folder / "ours_known", "/work")

        try:
            yield fresh
        finally:
            stdin.close()
            process.wait(60)


def find_sshd() -> str | None:
    """Return OpenSSH's server, if it is installed."""
    return shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/sbin")


@contextlib.contextmanager
def openssh(sshd: str, folder: Path) -> Iterator[Callable[[], Site]]:
    """Run OpenSSH's server on a free port; yields a function that creates a new folder."""
    host, user, port = generate_key(), generate_key(), _free_port()
    _write(folder / "host_key", host.private)
    _write(folder / "theirs_key", user.private)
    _write(folder / "authorized", f"{user.public}\n")
    _write(folder / "theirs_known", f"[127.0.0.1]:{port} {host.public}\n")
    settings = {
        "ListenAddress": "127.0.0.1",
        "Port": port,
        "HostKey": folder / "host_key",
        "AuthorizedKeysFile": folder / "authorized",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PermitRootLogin": "prohibit-password",
        "PasswordAuthentication": "no",
        "Subsystem": "sftp internal-sftp",
    }
    _write(folder / "sshd_config", "".join(f"{name} {value}\n" for name, value in settings.items()))
    count = 0

    def fresh() -> Site:
        nonlocal count
        count += 1
        shutil.rmtree(folder / f"root{count - 1}", ignore_errors=True)
        root = folder / f"root{count}"
        root.mkdir()
        return Site(port, getpass.getuser(), folder / "theirs_key", folder / "theirs_known", str(root))

    command = [*_apart(), sshd, "-D", "-f", str(folder / "sshd_config")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port, process)
            yield fresh
        finally:
            process.terminate()
            process.wait(20)


def works(folder: Path, megabytes: int, count: int) -> list[Work]:
    """Return the workloads, with the files that the client needs."""
    big, many, back = folder / "big.bin", folder / "many", folder / "back"
    size = megabytes * 1024 * 1024
    with big.open("wb") as file:
        for _ in range(megabytes):
            file.write(os.urandom(1024 * 1024))
    many.mkdir()
    back.mkdir()
    for number in range(count):
        (many / f"{number:05}.dat").write_bytes(os.urandom(SMALL))

    def put_each(sftp: paramiko.SFTPClient) -> None:
        for path in sorted(many.iterdir()):
            sftp.put(str(path), path.name)

    def get_each(sftp: paramiko.SFTPClient) -> None:
        for name in sftp.listdir():
            if name.endswith(".dat"):
                sftp.get(name, str(back / name))

    def get(site: Site) -> float:
        took = site.sftp(f"get big.bin {back / 'big.bin'}")
        assert (back / "big.bin").stat().st_size == size
        return took

    small = SMALL * count
    return [
        Work(f"put of {megabytes} MB, `sftp`", lambda site: site.sftp(f"put {big}"), size, 1),
        Work(f"get of {megabytes} MB, `sftp`", get, size, 1),
        Work(f"put of {count:,} files of 4 KB, `sftp`", lambda site: site.sftp(f"mput {many}/*"), small, count),
        Work(f"get of {count:,} files of 4 KB, `sftp`", lambda site: site.sftp(f"mget *.dat {back}/"), small, count),
        Work(f"put of {count:,} files of 4 KB, paramiko", lambda site: site.paramiko(put_each), small, count),
        Work(f"get of {count:,} files of 4 KB, paramiko", lambda site: site.paramiko(get_each), small, count),
    ]


class Measured(NamedTuple):
    """Median seconds of both servers for one workload; None without OpenSSH's server."""

    work: Work
    ours: float
    theirs: float | None


def measure(megabytes: int = 256, count: int = 500, rounds: int = ROUNDS) -> list[Measured]:
    """Measure both servers, alternating."""
    sshd = find_sshd()
    with contextlib.ExitStack() as stack:
        place = MEMORY if os.access(MEMORY, os.W_OK) else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=place)))
        todo = works(folder, megabytes, count)
        sides = [stack.enter_context(ours(folder))]
        if sshd is not None:
            sides.append(stack.enter_context(openssh(sshd, folder)))
        spent: list[list[list[float]]] = [[[] for _ in todo] for _ in sides]
        for _ in range(rounds):
            for fresh, times in zip(sides, spent, strict=True):
                site = fresh()
                for work, seconds in zip(todo, times, strict=True):
                    seconds.append(work.run(site))
        mine = [median(seconds) for seconds in spent[0]]
        theirs = [median(seconds) for seconds in spent[1]] if sshd is not None else [None] * len(todo)
        return [Measured(*each) for each in zip(todo, mine, theirs, strict=True)]


def table(found: list[Measured]) -> str:
    """Return the results as a table."""
    return render_table(
        ("SFTP", "ours", "OpenSSH", "ratio", "aim"),
        [
            (
                work.name,
                _rate(work, mine),
                "not here" if theirs is None else _rate(work, theirs),
                "" if theirs is None else times(theirs / mine),
                f"≥ {AIM}×",
            )
            for work, mine, theirs in found
        ],
    )


def _rate(work: Work, seconds: float) -> str:
    if work.files == 1:
        return f"{work.bytes / seconds / 1e6:.0f} MB/s"
    return f"{work.files / seconds:,.0f} files/s"


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)


def _apart() -> list[str]:
    """Return a command that gives sshd its own /run folder, which it requires when it runs as root."""
    if os.geteuid() != 0 or Path("/run/sshd").is_dir():
        return []
    return ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$0" "$@"']


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_LIMIT
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if time.monotonic() > deadline or process.poll() is not None:
            raise TimeoutError("OpenSSH's server did not start")
        time.sleep(0.02)


def main() -> None:
    """Parse the command line, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true", help="16 MB, 100 files, one round: that it works at all")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve()
    elif asked.quick:
        print(table(measure(16, 100, 1)))
    else:
        print(table(measure(asked.megabytes, asked.files, asked.rounds)))


if __name__ == "__main__":
    main()
