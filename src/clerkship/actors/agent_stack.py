"""The current stack of a Python agent, stored when an agent that hangs is stopped."""

import asyncio
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from itertools import dropwhile
from types import FrameType
from typing import Any

from clerkship.actors.python_target import is_library

MAX_STACKS = 5
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+.*\n", re.MULTILINE)
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)
_DUMP = re.compile(r'(?:^(?:Current thread|Thread) 0x[0-9a-f]+.*\n(?:  (?:File "|\.\.\.).*\n?)*\n?)+\Z', re.MULTILINE)


def thread_stack(thread: int) -> str:
    """Render the stack of a thread from the agent's first frame; empty if it runs none of the agent's code."""
    frame = sys._current_frames().get(thread)
    return _render(reversed(list(_callers(frame))))


def task_stacks(tasks: Iterable["asyncio.Task[Any]"]) -> str:
    """Render where each waiting task of an agent is suspended; call it in the thread of their event loop."""
    stacks = (_render(_awaits(task.get_coro())) for task in tasks if not task.done())
    return "\n".join([stack for stack in stacks if stack][:MAX_STACKS])


def split_stack(stderr: str) -> tuple[str, str]:
    """Split a `faulthandler` dump off the end of standard error, rendered as `thread_stack` does."""
    match = _DUMP.search(stderr)
    if match is None:
        return stderr, ""
    threads = [_FRAME.findall(block) for block in _THREAD.split(match[0])]
    own = (dropwhile(lambda frame: is_library(frame[0]), reversed(frames)) for frames in threads)
    lines = [f'  File "{file}", line {line}, in {name}\n' for frames in own for file, line, name in frames]
    return stderr[: match.start()], "".join(lines)


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _awaits(awaited: Any) -> Iterator[FrameType]:
    """Yield the frames of a coroutine and of what it awaits, outermost first."""
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if frame is not None:
            yield frame
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


def _render(frames: Iterable[FrameType]) -> str:
    own = dropwhile(lambda frame: is_library(frame.f_code.co_filename), frames)
    summary = traceback.StackSummary.extract((frame, frame.f_lineno) for frame in own)
    return "".join(summary.format())
