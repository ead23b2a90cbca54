"""Content that travels by its digest: each part is the input of a workflow, which its history keeps.

So workers need no storage that they share, and no key but that of Temporal.
"""

import contextlib
import hashlib
import zlib

import orjson
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from clerkship.model.errors import PlatformError
from clerkship.service.temporal.address import WORKFLOW_QUEUE
from clerkship.service.temporal.workflows import CONTENT

PART_BYTES = 1_000_000
"""Bytes of one part; a server takes 2 MB."""
MAX_PARTS = 1000


class ContentMissing(PlatformError):
    """The server has no content with a digest, or other content under it."""


async def save_content(client: Client, data: bytes) -> str:
    """Save content, unless the server has it. Return the digest of its list of parts."""
    packed = zlib.compress(data, 1)
    parts = [packed[begin : begin + PART_BYTES] for begin in range(0, len(packed), PART_BYTES)]
    if len(parts) > MAX_PARTS:
        raise PlatformError(f"{len(packed):,} bytes are too many to send by Temporal")
    names = [await _save_part(client, part) for part in parts]
    return await _save_part(client, orjson.dumps({"sha256": hashlib.sha256(data).hexdigest(), "parts": names}))


async def load_content(client: Client, digest: str) -> bytes:
    """Return content by the digest of its list of parts. Raise ContentMissing if it is not there, or is changed."""
    listing = orjson.loads(await _load_part(client, digest))
    decompressor = zlib.decompressobj()
    data = b"".join([decompressor.decompress(await _load_part(client, name)) for name in listing["parts"]])
    if hashlib.sha256(data).hexdigest() != listing["sha256"]:
        raise ContentMissing(f"the content {digest} has another hash")
    return data


async def _save_part(client: Client, part: bytes) -> str:
    name = hashlib.sha256(part).hexdigest()
    with contextlib.suppress(WorkflowAlreadyStartedError):
        await client.start_workflow(
            CONTENT,
            part,
            id=_build_id(name),
            task_queue=WORKFLOW_QUEUE,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
        )
    return name


async def _load_part(client: Client, name: str) -> bytes:
    history = client.get_workflow_handle(_build_id(name)).fetch_history_events(page_size=1)
    async for event in history:
        [payload] = event.workflow_execution_started_event_attributes.input.payloads
        if hashlib.sha256(payload.data).hexdigest() == name:
            return payload.data
        break
    raise ContentMissing(f"the content {name} is not on the server, or has another hash")


def _build_id(name: str) -> str:
    return f"{CONTENT}-{name}"
