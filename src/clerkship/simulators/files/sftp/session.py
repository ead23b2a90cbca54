"""The sandbox behind an SFTP session: calls of its operations, with refusals raised as SFTP errors."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import asyncssh
import orjson

from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.operation import Operation
from clerkship.sandbox.request import IMMEDIATE, Reply
from clerkship.simulators.files import operations as ops
from clerkship.simulators.files.paths import CONTROL_CHARACTERS
from clerkship.simulators.files.sftp.call import SftpCall
from clerkship.simulators.files.sftp.upload import Upload, Uploads, UploadTooLarge
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.files.volume import FileEntry

MAX_HELD_BYTES = 1_000_000_000
"""Bytes of open uploads to one sandbox, however large its quota is."""
RUN_ENDED = 401
"""The status of a reply once the run has ended."""
_ERRORS: dict[int, Callable[[str], asyncssh.SFTPError]] = {
    403: asyncssh.SFTPPermissionDenied,
    404: asyncssh.SFTPNoSuchFile,
    501: asyncssh.SFTPOpUnsupported,
}
T = TypeVar("T")
InputT = TypeVar("InputT")
ResultT = TypeVar("ResultT")


class ReplyLost(Exception):
    """The reply is lost: the connection must be closed."""


class OpenedFile(NamedTuple):
    """The content of a file when it was opened."""

    path: str
    data: bytes
    cut: bool = False
    """Whether a fault breaks the connection at the end of the data."""


def parse_path(data: bytes) -> str:
    """Return a client's path without `.`, `..` and leading slash; empty for the root."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise asyncssh.SFTPFailure("a path must be UTF-8") from None
    parts: list[str] = []
    for part in text.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


class DropSession:
    """The operations of one sandbox, called by one SFTP session."""

    def __init__(self, client: SandboxClient, uploads: Uploads) -> None:
        self.client, self.uploads = client, uploads

    async def read(self, path: str) -> OpenedFile:
        _refuse_root(path)
        reply = await self.call(SftpCall(ops.read_file, ops.FilePath(path=path), path))
        return OpenedFile(path, reply.body, reply.delivery.promised is not None)

    async def open_upload(self, path: str, pflags: int, size: int = 0) -> Upload:
        """Open a file for writing, by the rules of open(2); refuse it if its announced size is too large."""
        _refuse_root(path)
        space = await self.result(ops.space_for, ops.FileSize(path=path, size=size), path)
        is_there = space.size is not None or self.uploads.find(path) is not None
        if pflags & asyncssh.FXF_CREAT and pflags & asyncssh.FXF_EXCL and is_there:
            raise asyncssh.SFTPFailure(f"{path} already exists")
        if not pflags & asyncssh.FXF_CREAT and not is_there:
            raise asyncssh.SFTPNoSuchFile(f"there is no file {path}")
        room, now = min(space.room, MAX_HELD_BYTES), int(space.now.timestamp())
        upload = Upload(path, space.most, room, self.uploads, now)
        upload.append, upload.readable = bool(pflags & asyncssh.FXF_APPEND), bool(pflags & asyncssh.FXF_READ)
        upload.changed = bool(pflags & asyncssh.FXF_TRUNC) or space.size is None
        if not upload.changed:
            await self._load(upload)
        return upload

    async def _load(self, upload: Upload) -> None:
        """Load the content of a file that is changed. It is a read, which is logged, only if it is open for reading."""
        try:
            if upload.readable:
                data = (await self.read(upload.path)).data
            else:
                data = await self.read_state(lambda state: bytes(state.records.get(upload.path, b"")))
            await self._apply_within_limits(upload, lambda: upload.load(data))
        except BaseException:
            upload.release()
            raise

    async def write(self, upload: Upload, offset: int, data: bytes) -> None:
        """Write part of a file. After one refused write all others are refused: the file would have a hole."""
        if upload.failed:
            raise asyncssh.SFTPFailure("an earlier write to this file was refused")
        try:
            await self._apply_within_limits(upload, lambda: upload.write(offset, data))
        except asyncssh.SFTPError:
            upload.failed = True
            raise

    async def truncate(self, upload: Upload, size: int) -> None:
        """Make a file shorter, or longer with zeros."""
        await self._apply_within_limits(upload, lambda: upload.truncate(size))

    async def _apply_within_limits(self, upload: Upload, change: Callable[[], None]) -> None:
        """Apply a change; if it is too large, have the sandbox refuse it, so that the refusal is logged."""
        try:
            change()
        except UploadTooLarge as large:
            coming = self.uploads.buffered_bytes - upload.size
            size = ops.FileSize(path=upload.path, size=large.size, coming=coming)
            await self.result(ops.space_for, size, upload.path)
            raise asyncssh.SFTPFailure("too many bytes are being uploaded at once") from None

    async def finish(self, upload: Upload, *, complete: bool = True) -> None:
        """Store an upload in the sandbox; after a refused write as an incomplete file, as on a full disk."""
        try:
            if upload.changed:
                data = upload.content()
                file = ops.NewFile(path=upload.path, data=data, complete=complete and not upload.failed)
                await self.call(SftpCall(ops.write_file, file, upload.path, data))
        finally:
            upload.release()
        if upload.modified is not None:
            await self.set_modified(upload.path, upload.modified)

    async def set_modified(self, path: str, modified: int) -> None:
        """Set the modification time of a file or folder."""
        at = datetime.fromtimestamp(modified, UTC)
        body = orjson.dumps({"modified": at.isoformat()})
        await self.call(SftpCall(ops.stamp_file, ops.NewTime(path=path, modified=at), path, body))

    async def rename(self, old: str, new: str, *, replace: bool, uploading: str = "") -> None:
        """Rename a file or folder; one with many entries in a thread, so that other clients are answered meanwhile."""
        body = orjson.dumps({"from": old, "to": new, "replace": replace})
        names = ops.NewName.model_construct(path=old, to=new, replace=replace)
        is_long = await self.read_state(lambda state: state.volume.has_many(old))
        await self.call(SftpCall(ops.rename, names, "", body, uploading), in_thread=is_long)

    async def result(
        self, operation: Operation[InputT, ResultT], input: InputT, path: str, uploading: str = ""
    ) -> ResultT:
        """Call an operation and return its result; it is refused if an upload is in the way."""
        reply = await self.call(SftpCall(operation, input, path, uploading=uploading))
        if reply.delivery.promised is not None:
            raise ReplyLost
        result: ResultT = reply.result
        return result

    async def page(self, folder: str, after: str, count: int) -> Sequence[FileEntry]:
        """Return the next entries of a folder; nothing is logged."""
        return await self.read_state(lambda state: state.volume.page(folder, after, count))

    async def read_state(self, read: Callable[[FilesState], T]) -> T:
        """Read the state; nothing is logged."""
        await self._wait_for_long_operation()
        return await self.client.read_state(read)

    async def call(self, call: SftpCall[Any, Any], *, in_thread: bool = False) -> Reply:
        """Call an operation. Raises asyncssh.SFTPError if it is refused, and ReplyLost if the reply is lost."""
        if "\n" in call.target:
            raise asyncssh.SFTPFailure(CONTROL_CHARACTERS)
        await self._wait_for_long_operation()
        reply = await (self._call_in_thread(call) if in_thread else self.client.call(call))
        if reply.lost or reply.status == RUN_ENDED:
            raise ReplyLost
        if reply.delivery is not IMMEDIATE and reply.delivery.over:
            await asyncio.sleep(reply.delivery.over)
        if reply.refusal is not None:
            raise _ERRORS.get(reply.status, asyncssh.SFTPFailure)(reply.refusal.reason)
        return reply

    async def _wait_for_long_operation(self) -> None:
        """Wait for a long operation in a thread: a call during it would block the event loop for every client."""
        while self.uploads.long_operation is not None:
            await asyncio.wait([self.uploads.long_operation])

    async def _call_in_thread(self, call: SftpCall[Any, Any]) -> Reply:
        self.uploads.long_operation = asyncio.ensure_future(asyncio.to_thread(self.client.call_now, call))
        try:
            reply = await self.uploads.long_operation
        finally:
            self.uploads.long_operation = None
        return reply if isinstance(reply, Reply) else await reply


def _refuse_root(path: str) -> None:
    if not path:
        raise asyncssh.SFTPFailure("the drop itself is a folder")
