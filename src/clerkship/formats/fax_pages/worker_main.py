"""The program of a worker process: `python -m clerkship.formats.fax_pages.worker_main TARGET MEMORY CPU_SECONDS`.

It reads requests from standard input and writes a status, `o` for ok, `m` for memory or `e` for error, and a reply.
"""

import os
import sys
from contextlib import suppress
from typing import BinaryIO

from clerkship.by_name import load
from clerkship.formats.fax_pages.worker import LENGTH_BYTES, read_frame

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]


def main(target: str, memory: int, cpu_seconds: int) -> None:
    """Serve requests until standard input ends."""
    # What libraries print must not get among the replies.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as replies:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        if resource is not None:
            _limit(resource.RLIMIT_CORE, 0)
            _limit(resource.RLIMIT_FSIZE, 0)
            _limit(resource.RLIMIT_AS, memory)
        while (request := read_frame(sys.stdin.buffer)) is not None:
            if resource is not None:
                _limit_processor_time(cpu_seconds)
            _serve(target, request, replies)


def _serve(target: str, request: bytes, replies: BinaryIO) -> None:
    try:
        status, reply = b"o", load(target)(request)
    except MemoryError:
        status, reply = b"m", b""
    except Exception as error:  # the parent process turns it into data
        status, reply = b"e", f"{type(error).__name__}: {error}"[:2000].encode()
    replies.write(status + len(reply).to_bytes(LENGTH_BYTES, "big"))
    replies.write(reply)
    replies.flush()


def _limit(kind: int, value: int) -> None:
    with suppress(ValueError, OSError):  # not all systems have all limits
        resource.setrlimit(kind, (value, value))


def _limit_processor_time(seconds: int) -> None:
    """Let this request take so many seconds from now. At the soft limit the system ends the process by SIGXCPU."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = int(usage.ru_utime + usage.ru_stime) + 1
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
