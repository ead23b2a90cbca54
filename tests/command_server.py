"""Run `clerkship` commands in forks of one process that has imported the package.

A command in a new process spends most of its time on imports. `get_command_path` returns a PATH with a small program
named `clerkship`. It passes its arguments, environment, folder and standard streams to a server, which forks a
process that runs the command. How a command starts in a new interpreter is tested in `test_startup.py`.

This module is also the server's program, started as `command_server.py SOCKET`.
"""

import gc
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

import clerkship
from clerkship.__main__ import main

MAX_REQUEST_BYTES = 1_000_000
NOT_IMPORTED = ("clerkship.__main__", "clerkship.pytest_plugin")
CLIENT = """#!{python} -IS
import array, json, os, socket, sys
request = {{"arguments": sys.argv, "environment": dict(os.environ), "folder": os.getcwd()}}
with socket.socket(socket.AF_UNIX) as server:
    server.connect({socket!r})
    streams = array.array("i", [0, 1, 2]).tobytes()
    server.sendmsg([b"\\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    server.sendall(json.dumps(request).encode() + b"\\n")
    code = server.recv(16)
sys.exit(int(code) if code else "the command ended without an exit code")
"""


_running = ExitStack()
_times: list[TextIO] = []
"""The file in which the server's processes note the processor time of commands, if the server runs."""
_ended: list[float] = []
"""The processor times of the commands that have ended."""
_processes: list[int] = []
"""The server's process, if it runs."""


@cache
def get_command_path() -> str:
    """Return a PATH on which `clerkship` is run by the server, which is started by the first call."""
    return _running.enter_context(_start_server())


def get_command_server() -> int | None:
    """Return the number of the server's process; None if it does not run."""
    return _processes[0] if _processes else None


def get_commands_processor_time() -> float:
    """Return the processor time of the commands that have ended, in seconds."""
    if _times:  # an open file, because a test may have given up the right to open it
        _ended.extend(map(float, _times[0].read().split()))
    return sum(_ended)


def stop_command_server() -> None:
    """Stop the server, if it was started, with the commands that it still runs."""
    _running.close()
    get_command_path.cache_clear()


@contextmanager
def _start_server() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        address, program = Path(folder, "socket"), Path(folder, "clerkship")
        program.write_text(CLIENT.format(python=sys.executable, socket=str(address)), encoding="utf-8")
        program.chmod(0o755)
        command = [sys.executable, __file__, str(address)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as server:
            _processes.append(server.pid)
            try:
                assert server.stdout is not None
                assert server.stdout.readline() == b"ready\n"
                with _get_times_path(address).open(encoding="utf-8") as times:
                    _times[:] = [times]
                    yield os.pathsep.join([folder, str(Path(sys.executable).parent), os.environ["PATH"]])
            finally:
                _times.clear()
                _processes.clear()
                os.killpg(server.pid, signal.SIGKILL)


def _get_times_path(address: Path) -> Path:
    return address.with_name("processor_times")


def serve(address: str) -> dict[str, Any]:
    """Accept requests until standard input ends. Return only in a forked process, with its request."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        times = _get_times_path(Path(address))
        times.touch()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended processes need not be waited for
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    return _fork_command(connection, times)
    sys.exit()


def _fork_command(connection: socket.socket, times: Path) -> dict[str, Any]:
    """Fork a process for a command, and send its exit code. Return only in that process, with the request."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as lines:
        request: dict[str, Any] = json.loads(lines.readline(MAX_REQUEST_BYTES))
    child = os.fork()
    if child:
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        used = os.times()
        with times.open("a", encoding="utf-8") as file:
            file.write(f"{used.children_user + used.children_system:.3f}\n")
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    return request


def import_package() -> None:
    """Import all modules of the package, and keep them out of garbage collection in the forks."""
    for module in pkgutil.walk_packages(clerkship.__path__, "clerkship."):
        if module.name not in NOT_IMPORTED:
            import_module(module.name)
    gc.collect()
    gc.freeze()


def become_command(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Set up this process as if it had been started with these arguments, environment and folder."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[0:1] = [str(Path(sys.executable).parent), *paths]


if __name__ == "__main__":
    import_package()
    become_command(**serve(sys.argv[1]))
    sys.exit(main())
