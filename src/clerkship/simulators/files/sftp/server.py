"""The SFTP server of one session: asyncssh's, with the files of a sandbox instead of those of a disk.

See docs/decisions/0015-files-and-sftp.md.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

import asyncssh
import orjson

from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.operation import NO_INPUT, Operation
from clerkship.sandbox.request import IMMEDIATE, Reply
from clerkship.simulators.files import operations as ops
from clerkship.simulators.files.paths import CONTROL_CHARACTERS
from clerkship.simulators.files.sftp.call import SftpCall
from clerkship.simulators.files.sftp.upload import Upload, Uploads, UploadTooLarge
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.files.volume import FileEntry

MAX_DATA_BYTES = 255 * 1024
"""Bytes of a file in one packet, as in OpenSSH."""
MAX_HELD_BYTES = 1_000_000_000
"""Bytes of open uploads to one sandbox, however large its quota is."""
NAMES_PER_PACKET = 128
"""Names in one packet of asyncssh."""
MAX_TIME = 0xFFFFFFFF
RUN_ENDED = 401
"""The status of a reply once the run has ended."""
OWNER = GROUP = 1000
FILE_MODE, FOLDER_MODE = 0o100644, 0o040755
_HALF_YEAR = 365 * 24 * 60 * 60 // 2
_ERRORS: dict[int, Callable[[str], asyncssh.SFTPError]] = {
    403: asyncssh.SFTPPermissionDenied,
    404: asyncssh.SFTPNoSuchFile,
    501: asyncssh.SFTPOpUnsupported,
}
Listing = AsyncIterator[asyncssh.SFTPName]
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


class SandboxServer(asyncssh.SFTPServer):
    """The operations of a sandbox, and the files that are being uploaded to it."""

    def __init__(self, channel: "asyncssh.SSHServerChannel[bytes]", client: SandboxClient, uploads: Uploads) -> None:
        super().__init__(channel)
        self._client, self._uploads = client, uploads
        self.interrupted = False
        """Whether the session ended with files open: what was uploaded is incomplete."""
        self.announced = 0
        """The size of the next file, where the client says it first (scp)."""

    async def _read_file(self, path: str) -> OpenedFile:
        _refuse_root(path)
        reply = await self._call(SftpCall(ops.read_file, ops.FilePath(path=path), path))
        return OpenedFile(path, reply.body, reply.delivery.promised is not None)

    async def _open_upload(self, path: str, pflags: int) -> Upload:
        """Open a file for writing, by the rules of open(2); refuse it if its announced size is too large."""
        _refuse_root(path)
        if self.announced < 0:
            raise asyncssh.SFTPBadMessage("a file cannot have a negative size")
        space = await self._result(ops.space_for, ops.FileSize(path=path, size=self.announced), path)
        is_there = space.size is not None or self._uploads.find(path) is not None
        if pflags & asyncssh.FXF_CREAT and pflags & asyncssh.FXF_EXCL and is_there:
            raise asyncssh.SFTPFailure(f"{path} already exists")
        if not pflags & asyncssh.FXF_CREAT and not is_there:
            raise asyncssh.SFTPNoSuchFile(f"there is no file {path}")
        room, now = min(space.room, MAX_HELD_BYTES), int(space.now.timestamp())
        upload = Upload(path, space.most, room, self._uploads, now)
        upload.append, upload.readable = bool(pflags & asyncssh.FXF_APPEND), bool(pflags & asyncssh.FXF_READ)
        upload.changed = bool(pflags & asyncssh.FXF_TRUNC) or space.size is None
        if not upload.changed:
            await self._load(upload)
        return upload

    async def _load(self, upload: Upload) -> None:
        """Load the content of a file that is changed. It is a read, which is logged, only if it is open for reading."""
        try:
            if upload.readable:
                data = (await self._read_file(upload.path)).data
            else:
                data = await self._read_state(lambda state: bytes(state.records.get(upload.path, b"")))
            await self._apply_within_limits(upload, lambda: upload.load(data))
        except BaseException:
            upload.release()
            raise

    async def _apply_within_limits(self, upload: Upload, change: Callable[[], None]) -> None:
        """Apply a change; if it is too large, have the sandbox refuse it, so that the refusal is logged."""
        try:
            change()
        except UploadTooLarge as large:
            coming = self._uploads.buffered_bytes - upload.size
            size = ops.FileSize(path=upload.path, size=large.size, coming=coming)
            await self._result(ops.space_for, size, upload.path)
            raise asyncssh.SFTPFailure("too many bytes are being uploaded at once") from None

    async def _store(self, upload: Upload) -> None:
        """Store an upload in the sandbox; after a refused write as an incomplete file, as on a full disk."""
        try:
            if upload.changed:
                data, is_complete = upload.content(), not (self.interrupted or upload.failed)
                file = ops.NewFile(path=upload.path, data=data, complete=is_complete)
                await self._call(SftpCall(ops.write_file, file, upload.path, data))
        finally:
            upload.release()
        if upload.modified is not None:
            await self._set_modified(upload.path, upload.modified)

    async def _truncate(self, path: str, size: int) -> None:
        upload = await self._open_upload(path, asyncssh.FXF_WRITE)
        try:
            await self._apply_within_limits(upload, lambda: upload.truncate(size))
            await self._store(upload)
        finally:
            upload.release()

    async def _set_modified(self, path: str, modified: int) -> None:
        at = datetime.fromtimestamp(modified, UTC)
        body = orjson.dumps({"modified": at.isoformat()})
        await self._call(SftpCall(ops.stamp_file, ops.NewTime(path=path, modified=at), path, body))

    def _find_uploading(self, *paths: str) -> str:
        """Return the path of a file that is being uploaded at one of these paths, or below one; empty if none is."""
        uploads = [upload for path in filter(None, paths) if (upload := self._uploads.find_below(path)) is not None]
        return uploads[0].path if uploads else ""

    async def _change(self, operation: Operation[InputT, None], input: Callable[..., InputT], path: bytes) -> None:
        """Call an operation that changes a path; it is refused if an upload is in the way."""
        file_path = parse_path(path)
        await self._result(operation, input(path=file_path), file_path, self._find_uploading(file_path))

    async def _result(
        self, operation: Operation[InputT, ResultT], input: InputT, path: str, uploading: str = ""
    ) -> ResultT:
        """Call an operation and return its result."""
        reply = await self._call(SftpCall(operation, input, path, uploading=uploading))
        if reply.delivery.promised is not None:
            raise ReplyLost
        result: ResultT = reply.result
        return result

    async def _read_state(self, read: Callable[[FilesState], T]) -> T:
        """Read the state; nothing is logged."""
        await self._wait_for_long_operation()
        return await self._client.read_state(read)

    async def _call(self, call: SftpCall[Any, Any], *, in_thread: bool = False) -> Reply:
        """Call an operation. Raises asyncssh.SFTPError if it is refused, and ReplyLost if the reply is lost."""
        if "\n" in call.target:
            raise asyncssh.SFTPFailure(CONTROL_CHARACTERS)
        await self._wait_for_long_operation()
        reply = await (self._call_in_thread(call) if in_thread else self._client.call(call))
        if reply.lost or reply.status == RUN_ENDED:
            raise ReplyLost
        if reply.delivery is not IMMEDIATE and reply.delivery.over:
            await asyncio.sleep(reply.delivery.over)
        if reply.refusal is not None:
            raise _ERRORS.get(reply.status, asyncssh.SFTPFailure)(reply.refusal.reason)
        return reply

    async def _wait_for_long_operation(self) -> None:
        """Wait for a long operation in a thread: a call during it would block the event loop for every client."""
        while self._uploads.long_operation is not None:
            await asyncio.wait([self._uploads.long_operation])

    async def _call_in_thread(self, call: SftpCall[Any, Any]) -> Reply:
        self._uploads.long_operation = asyncio.ensure_future(asyncio.to_thread(self._client.call_now, call))
        try:
            reply = await self._uploads.long_operation
        finally:
            self._uploads.long_operation = None
        return reply if isinstance(reply, Reply) else await reply


class DropServer(SandboxServer):
    """The files of a sandbox. A file being uploaded is visible with its current size and cannot be moved or removed."""

    async def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> OpenedFile | Upload:
        file_path = parse_path(path)
        if pflags & asyncssh.FXF_WRITE:
            return await self._open_upload(file_path, pflags)
        try:
            return await self._read_file(file_path)
        except asyncssh.SFTPNoSuchFile:
            if self._find_uploading(file_path):
                raise asyncssh.SFTPFailure(f"{file_path} is being uploaded") from None
            raise

    def read(self, file_obj: object, offset: int, size: int) -> bytes:
        if isinstance(file_obj, OpenedFile):
            if file_obj.cut and offset >= len(file_obj.data):
                raise ReplyLost
            return file_obj.data[offset : offset + min(size, MAX_DATA_BYTES)]
        if isinstance(file_obj, Upload) and file_obj.readable:
            return file_obj.read(offset, min(size, MAX_DATA_BYTES))
        raise asyncssh.SFTPPermissionDenied("the file is not open for reading")

    async def write(self, file_obj: object, offset: int, data: bytes) -> int:
        """Write part of a file. After one refused write all others are refused: the file would have a hole."""
        upload = _require_upload(file_obj)
        if upload.failed:
            raise asyncssh.SFTPFailure("an earlier write to this file was refused")
        try:
            await self._apply_within_limits(upload, lambda: upload.write(offset, data))
        except asyncssh.SFTPError:
            upload.failed = True
            raise
        return len(data)

    async def close(self, file_obj: object) -> None:
        """Close a file. An upload becomes a file of the sandbox."""
        if not isinstance(file_obj, Upload):
            return
        try:
            await self._store(file_obj)
        except (asyncssh.SFTPError, ReplyLost):
            if not self.interrupted:
                raise

    async def stat(self, path: bytes) -> asyncssh.SFTPAttrs:
        """Describe a file or folder. A missing one is not logged as a refusal: clients look before they write."""
        file_path = parse_path(path)
        upload = self._uploads.find(file_path)
        if upload is not None:
            return upload_attrs(upload)
        if file_path:
            entry = await self._result(ops.stat, ops.StatPath(path=file_path, missing="ok"), file_path)
        else:
            entry = await self._result(ops.stat_outermost, ops.OutermostStat(), file_path)
        if entry is None:
            raise asyncssh.SFTPNoSuchFile(f"there is no file or folder {file_path}")
        return entry_attrs(entry)

    lstat = stat

    async def fstat(self, file_obj: object) -> asyncssh.SFTPAttrs:
        if isinstance(file_obj, Upload):
            return upload_attrs(file_obj)
        reading = cast(OpenedFile, file_obj)
        attrs = await self.stat(reading.path.encode())
        return build_attrs(attrs.mtime or 0, len(reading.data))

    async def setstat(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        """Set the size or the time of a file. Permissions are ignored: clients send them along with times."""
        _refuse_owner(attrs)
        file_path = parse_path(path)
        upload = self._uploads.find(file_path)
        if upload is not None:
            await self.fsetstat(upload, attrs)
            return
        await self.stat(path)
        if attrs.size is not None:
            await self._truncate(file_path, attrs.size)
        if attrs.mtime is not None:
            await self._set_modified(file_path, _check_time(attrs.mtime))

    lsetstat = setstat

    async def fsetstat(self, file_obj: object, attrs: asyncssh.SFTPAttrs) -> None:
        """Set the size or the time of an open file; the time of an upload once it is written."""
        _refuse_owner(attrs)
        if (size := attrs.size) is not None:
            upload = _require_upload(file_obj)
            await self._apply_within_limits(upload, lambda: upload.truncate(size))
        if attrs.mtime is None:
            return
        if isinstance(file_obj, Upload):
            file_obj.modified = _check_time(attrs.mtime)
        else:
            await self._set_modified(cast(OpenedFile, file_obj).path, _check_time(attrs.mtime))

    async def statvfs(self, path: bytes) -> asyncssh.SFTPVFSAttrs:
        """Return the quota and the free space."""
        await self.stat(path)
        return await self.fstatvfs(None)

    async def fstatvfs(self, file_obj: object) -> asyncssh.SFTPVFSAttrs:
        """Return the quota and the free space, in blocks of one byte."""
        space = await self._result(ops.space, NO_INPUT, "")
        free = max(0, space.free - self._uploads.buffered_bytes)
        return asyncssh.SFTPVFSAttrs(bsize=4096, frsize=1, blocks=space.quota, bfree=free, bavail=free, namemax=255)

    async def open_folder(self, path: bytes) -> Listing:
        """Open a folder: one event, however many packets it takes to list it."""
        file_path = parse_path(path)
        if file_path:
            summary = await self._result(ops.list_folder, ops.FolderPage(path=file_path, only_count=True), file_path)
        else:
            summary = await self._result(ops.list_outermost, ops.OutermostPage(only_count=True), file_path)
        assert isinstance(summary, ops.FolderSummary)
        return self._read_folder(summary, self._uploads.in_folder(file_path))

    async def _read_folder(self, folder: ops.FolderSummary, coming: dict[str, Upload]) -> Listing:
        """Yield a folder page by page. What changes meanwhile may be listed or not, but no name is listed twice."""
        now = int(folder.now.timestamp())
        for dot in (".", ".."):
            yield build_name(dot, build_attrs(int(folder.modified.timestamp()), is_folder=True), now)
        count, after = NAMES_PER_PACKET - 2, ""
        while True:
            page = await self._read_page(folder.path, after, count)
            for entry in page:
                upload = coming.pop(entry.name, None)
                is_open = upload in self._uploads.opened
                yield build_name(entry.name, upload_attrs(upload) if upload and is_open else entry_attrs(entry), now)
            if len(page) < count:
                break
            count, after = NAMES_PER_PACKET, page[-1].name + "/" * page[-1].folder
        for name, upload in coming.items():
            yield build_name(name, upload_attrs(upload), now)

    async def _read_page(self, folder: str, after: str, count: int) -> list[FileEntry]:
        return await self._read_state(lambda state: state.volume.page(folder, after, count))

    async def scandir(self, path: bytes) -> Listing:
        """List a folder, for scp."""
        async for name in await self.open_folder(path):
            yield name

    async def remove(self, path: bytes) -> None:
        await self._change(ops.delete_file, ops.FilePath, path)

    async def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        await self._change(ops.make_folder, ops.FolderPath, path)

    async def rmdir(self, path: bytes) -> None:
        await self._change(ops.remove_folder, ops.FolderPath, path)

    def realpath(self, path: bytes) -> bytes:
        return f"/{parse_path(path)}".encode()

    async def rename(self, oldpath: bytes, newpath: bytes, *, replace: bool = False) -> None:
        """Rename a file or folder; the new name must be free.

        A folder with many entries is renamed in a thread, so that other clients are answered meanwhile.
        """
        old, new = parse_path(oldpath), parse_path(newpath)
        body = orjson.dumps({"from": old, "to": new, "replace": replace})
        names = ops.NewName.model_construct(path=old, to=new, replace=replace)
        is_long = await self._read_state(lambda state: state.volume.has_many(old))
        call = SftpCall(ops.rename, names, "", body, self._find_uploading(old, new))
        await self._call(call, in_thread=is_long)

    async def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        """Rename a file or folder; an existing file is replaced."""
        await self.rename(oldpath, newpath, replace=True)

    def fsync(self, file_obj: object) -> None:
        """Do nothing: a file is stored when it is closed."""


def _refuse_root(path: str) -> None:
    if not path:
        raise asyncssh.SFTPFailure("the drop itself is a folder")


def _require_upload(file_obj: object) -> Upload:
    if not isinstance(file_obj, Upload):
        raise asyncssh.SFTPPermissionDenied("the file is not open for writing")
    return file_obj


def _refuse_owner(attrs: asyncssh.SFTPAttrs) -> None:
    if attrs.uid is not None and (attrs.uid, attrs.gid) != (OWNER, GROUP):
        raise asyncssh.SFTPOpUnsupported("all files have one owner, which cannot be changed")


def _check_time(seconds: int) -> int:
    if not 0 <= seconds <= MAX_TIME:
        raise asyncssh.SFTPFailure(f"a time must be between 0 and {MAX_TIME} seconds after 1970")
    return seconds


def upload_attrs(upload: Upload) -> asyncssh.SFTPAttrs:
    """Return the attributes of a file that is being uploaded."""
    return build_attrs(upload.displayed_time, upload.size)


def entry_attrs(entry: FileEntry) -> asyncssh.SFTPAttrs:
    """Return the attributes of a file or folder of the sandbox."""
    return build_attrs(int(entry.modified.timestamp()), entry.size, is_folder=entry.folder)


def build_attrs(modified: int, size: int = 0, *, is_folder: bool = False) -> asyncssh.SFTPAttrs:
    """Return the attributes of a file or folder."""
    kind = asyncssh.FILEXFER_TYPE_DIRECTORY if is_folder else asyncssh.FILEXFER_TYPE_REGULAR
    mode, at = FOLDER_MODE if is_folder else FILE_MODE, min(max(modified, 0), MAX_TIME)
    return asyncssh.SFTPAttrs(type=kind, size=size, uid=OWNER, gid=GROUP, permissions=mode, atime=at, mtime=at)


def build_name(name: str, attrs: asyncssh.SFTPAttrs, now: int) -> asyncssh.SFTPName:
    """Return an entry of a listing, with a line as of `ls -l`."""
    mode, links = ("drwxr-xr-x", 2) if attrs.type == asyncssh.FILEXFER_TYPE_DIRECTORY else ("-rw-r--r--", 1)
    modified = attrs.mtime or 0
    when = _format_time(modified, is_old=now - modified >= _HALF_YEAR)
    long_name = f"{mode} {links:4} drop     drop     {attrs.size:8} {when} {name}"
    return asyncssh.SFTPName(name.encode(), long_name.encode(), attrs)


@lru_cache(maxsize=1024)
def _format_time(modified: int, *, is_old: bool) -> str:
    """Return a time as `ls -l` shows it: with the year instead of the hour if it is old."""
    return time.strftime("%b %e  %Y" if is_old else "%b %e %H:%M", time.gmtime(modified))
