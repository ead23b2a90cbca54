"""Run `clerkship` commands in forks of one process that has imported the package.

A command in a new process spends most of its time on imports. `get_command_path` returns a PATH with a small program
named `clerkship`. It passes its arguments, environment, folder and standard streams to a server, which forks a
process that runs the command; then it passes on signals, and ends as the command does. How a command starts in a new
interpreter is tested in `test_startup.py`.

This module is also the server's program, started as `command_server.py SOCKET`.
"""

import atexit
import gc
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self, TextIO

import clerkship
from clerkship.__main__ import main

NOT_IMPORTED = ("clerkship.__main__", "clerkship.pytest_plugin")
LENGTH_BYTES = 16
HANDLERS: dict[signal.Signals, Callable[..., Any] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
"""The signals to the program that are passed on to the command, and what handles each in a new process."""
CLIENT = """#!{python} -IS
import _signal, _socket, os, sys  # more imports would take longer than the rest
SIGNALS = {signals}
_signal.pthread_sigmask(_signal.SIG_BLOCK, SIGNALS)
ignored = [b"%d" % number for number in SIGNALS if _signal.getsignal(number) == _signal.SIG_IGN]
variables = [name + b"=" + value for name, value in os.environb.items()]
parts = [os.getcwdb(), b" ".join(ignored), b"%d" % len(sys.argv), *map(os.fsencode, sys.argv), *variables]
request = b"\\0".join(parts)
server = _socket.socket(_socket.AF_UNIX)
server.connect({socket!r})
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
server.sendmsg([b"%16d" % len(request)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
server.sendall(request)
process = int(server.recv(16))
for number in SIGNALS:
    if _signal.getsignal(number) != _signal.SIG_IGN:
        _signal.signal(number, lambda number, frame: os.kill(process, number))
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, SIGNALS)
code = server.recv(16)
if not code:
    sys.exit("the command ended without an exit code")
if int(code) < 0:  # by a signal
    if -int(code) in SIGNALS:
        _signal.signal(-int(code), _signal.SIG_DFL)
    os.kill(os.getpid(), -int(code))
os._exit(int(code))
"""


_running = ExitStack()
_times: list[TextIO] = []
"""The file in which the server's processes note the processor time of commands, if the server runs."""
_ended: list[float] = []
"""The processor times of the commands that have ended."""
_processes: list[int] = []
"""The server's process, if it runs."""


class CommandRequest(NamedTuple):
    """What a command is started with."""

    folder: str
    ignored: frozenset[int]
    """The signals that it ignores."""
    arguments: list[str]
    environment: dict[str, str]

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Read what the program sends."""
        folder, ignored, count, *rest = map(os.fsdecode, content.split(b"\0"))
        arguments, variables = rest[: int(count)], rest[int(count) :]
        environment = dict(variable.split("=", 1) for variable in variables)
        return cls(folder, frozenset(map(int, ignored.split())), arguments, environment)


@cache
def get_command_path() -> str:
    """Return a PATH on which `clerkship` is run by the server, which is started by the first call."""
    return _running.enter_context(_start_server())


def get_command() -> str:
    """Return the path of that program."""
    return str(Path(get_command_path().partition(os.pathsep)[0], "clerkship"))


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
        program.write_text(
            CLIENT.format(python=sys.executable, socket=str(address), signals=[int(number) for number in HANDLERS]),
            encoding="utf-8",
        )
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


def serve(address: str) -> CommandRequest:
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


def _fork_command(connection: socket.socket, times: Path) -> CommandRequest:
    """Fork a process for a command, and send its exit code. Return only in that process, with the request."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, streams, _, _ = socket.recv_fds(connection, LENGTH_BYTES, 3)
    with connection.makefile("rb") as content:
        request = CommandRequest.parse(content.read(int(length)))
    child = os.fork()
    if child:
        for stream in streams:
            os.close(stream)
        code = _wait_for_command(connection, child)
        used = os.times()
        with times.open("a", encoding="utf-8") as file:
            file.write(f"{used.children_user + used.children_system:.3f}\n")
        with suppress(BrokenPipeError):
            connection.sendall(b"%16d" % code)
        os._exit(0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    return request


def _wait_for_command(connection: socket.socket, child: int) -> int:
    """Send the number of a process, wait for its end, and return its exit code. Kill it if the client was killed."""
    with suppress(BrokenPipeError):
        connection.sendall(b"%16d" % child)
    process, client = os.pidfd_open(child), connection.fileno()
    if process not in select.select([process, client], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def import_package() -> None:
    """Import all modules of the package, and keep them out of garbage collection in the forks."""
    for module in pkgutil.walk_packages(clerkship.__path__, "clerkship."):
        if module.name not in NOT_IMPORTED:
            import_module(module.name)
    gc.collect()
    gc.freeze()


def become_command(request: CommandRequest) -> None:
    """Set up this process as if it had been started with these arguments, environment and folder."""
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.argv = request.arguments
    paths = [path for path in request.environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[0:1] = [str(Path(sys.executable).parent), *paths]
    for number, handler in HANDLERS.items():
        signal.signal(number, signal.SIG_IGN if number in request.ignored else handler)


def run_command() -> NoReturn:
    """Run the command, and end as an interpreter does, but without freeing all objects: that takes longer than most."""
    code = main()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(OSError):  # the reader may have closed them
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    import_package()
    become_command(serve(sys.argv[1]))
    run_command()
