"""Run a command until standard input is closed, so that a server never outlives the process that started it."""

import contextlib
import os
import signal
import subprocess
import sys
import threading

PATIENCE = 15.0  # seconds a server has to stop by itself


def terminate(process: "subprocess.Popen[bytes]") -> None:
    """Stop a process and its children; kill them if they do not stop."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)


def run_until_stdin_closes(command: list[str]) -> int:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def watch() -> None:
        while os.read(0, 1024):  # not through sys.stdin, whose lock we would hold when we end
            pass
        terminate(process)

    threading.Thread(target=watch, daemon=True).start()
    code = process.wait()
    terminate(process)  # whatever it left behind
    return code


if __name__ == "__main__":
    sys.exit(run_until_stdin_closes(sys.argv[1:]))
