"""Pack a finished trial into bytes, and build it from them again."""

import zlib
from typing import Any

import orjson

from clerkship.engine.spec import FinishedTrial
from clerkship.model.run import TaskRun

INLINE, BY_DIGEST = b"0", b"1"
"""The first byte of a result: the packed trial follows, or the digest of it."""
LEVEL = 1
"""Of compression: a log shrinks to a tenth, and a higher level takes longer than the network."""


def pack_trial(finished: FinishedTrial) -> bytes:
    """Return a finished trial as compressed bytes: a line of JSON, then the log, the sidecar and the bodies."""
    head = {
        "task_run": finished.task_run.model_dump(mode="json"),
        "log": len(finished.log),
        "sidecar": len(finished.sidecar),
        "blobs": {address: len(data) for address, data in finished.blobs.items()},
        "repeat": finished.retry is not None,
    }
    parts = [orjson.dumps(head), b"\n", finished.log, finished.sidecar, *finished.blobs.values()]
    return zlib.compress(b"".join(parts), LEVEL)


def unpack_trial(data: bytes) -> tuple[FinishedTrial, bool]:
    """Return a finished trial, and whether it is to be repeated alone."""
    line, _, rest = zlib.decompress(data).partition(b"\n")
    head: dict[str, Any] = orjson.loads(line)
    parts: list[bytes] = []
    begin = 0
    for size in (head["log"], head["sidecar"], *head["blobs"].values()):
        parts.append(rest[begin : begin + size])
        begin += size
    log, sidecar, *bodies = parts
    blobs = dict(zip(head["blobs"], bodies, strict=True))
    return FinishedTrial(TaskRun.model_validate(head["task_run"]), log, blobs, sidecar), head["repeat"]
