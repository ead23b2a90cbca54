"""Start programs that end with their test, however it ends."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def start_process(command: Sequence[str | Path], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """Start a program that exchanges text, and kill it at the end of the block if it still runs.

    `with subprocess.Popen(…)` would wait for it: for ever, if the block failed before it told the program to end.
    """
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()
