"""SFTP programs, and a drop for them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.simulators.files.served import SftpDrop


class SftpPrograms:
    """OpenSSH's programs and lftp, configured for one drop."""

    def __init__(self, drop: SftpDrop, folder: Path) -> None:
        self.drop, self.folder = drop, folder
        self.key, self.known_hosts = drop.write_keys(folder)
        self.files = folder / "files"
        self.files.mkdir()

    def options(self, *, password: bool = False) -> list[str]:
        """Return options for ssh, for any program that starts it."""
        chosen = {
            "UserKnownHostsFile": str(self.known_hosts),
            "StrictHostKeyChecking": "yes",
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "NumberOfPasswordPrompts": "1",
            "PreferredAuthentications": "password" if password else "publickey",
        }
        if not password:
            chosen["IdentityFile"] = str(self.key)
        return ["-F", "none", *(flag for name, value in chosen.items() for flag in ("-o", f"{name}={value}"))]

    def run(self, *command: str, text: str = "", password: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a program; answer its password prompt."""
        ask = self.folder / "ask.sh"
        ask.write_text('#!/bin/sh\nprintf "%s\\n" "$DROP_PASSWORD"\n')
        ask.chmod(0o700)
        surroundings = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "SSH_ASKPASS": str(ask),
            "SSH_ASKPASS_REQUIRE": "force",
            "DROP_PASSWORD": password,
        }
        return subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=self.files,
            env=surroundings,
        )

    def sftp(self, *commands: str, password: str = "") -> "subprocess.CompletedProcess[str]":
        """Run OpenSSH's sftp in batch mode."""
        require_program("sftp")
        batch = "\n".join(commands)
        # `-b` turns passwords off; a batch on its input does not.
        way = ["-b", "-"] if not password else []
        flags = [*self.options(password=bool(password)), "-P", str(self.drop.port)]
        return self.run("sftp", *way, *flags, f"{self.drop.user}@127.0.0.1", text=batch, password=password)

    def scp(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run OpenSSH's scp; `drop:` before a path is the drop."""
        require_program("scp")
        there = f"{self.drop.user}@127.0.0.1:"
        words = [there + word.removeprefix("drop:") if word.startswith("drop:") else word for word in arguments]
        return self.run("scp", *self.options(), "-P", str(self.drop.port), *words)

    def lftp(self, *commands: str) -> "subprocess.CompletedProcess[str]":
        """Run lftp, which starts ssh itself."""
        require_program("lftp")
        ssh = " ".join(["ssh", "-a", "-x", *self.options()])
        script = [
            f'set sftp:connect-program "{ssh}"',
            "set net:max-retries 1",
            "set cmd:fail-exit yes",
            f"open -u {self.drop.user},unused -p {self.drop.port} sftp://127.0.0.1",
            *commands,
        ]
        return self.run("lftp", "--norc", "-c", "; ".join(script))


def require_program(program: str) -> None:
    """Skip the test if a program is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
