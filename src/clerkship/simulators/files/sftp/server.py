"""The SFTP server of one session: asyncssh's, with the files of a sandbox instead of those of a disk.

See docs/decisions/0015-files-and-sftp.md.
"""

import time
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import cast

import asyncssh

from clerkship.sandbox.operation import NO_INPUT
from clerkship.simulators.files import operations as ops
from clerkship.simulators.files.sftp.session import DropSession, OpenedFile, ReplyLost, parse_path
from clerkship.simulators.files.sftp.upload import Upload
from clerkship.simulators.files.volume import FileEntry
from clerkship.text.spoken_words import MONTH_NAMES

MAX_DATA_BYTES = 255 * 1024
"""Bytes of a file in one packet, as in OpenSSH."""
NAMES_PER_PACKET = 128
"""Names in one packet of asyncssh."""
MAX_TIME = 0xFFFFFFFF
Listing = AsyncIterator[asyncssh.SFTPName]
OWNER = GROUP = 1000
FILE_MODE, FOLDER_MODE = 0o100644, 0o040755
_HALF_YEAR = 365 * 24 * 60 * 60 // 2


class DropServer(asyncssh.SFTPServer):
    """The files of a sandbox. A file being uploaded is visible with its current size and cannot be moved or removed."""

    def __init__(self, channel: "asyncssh.SSHServerChannel[bytes]", drop: DropSession) -> None:
        super().__init__(channel)
        self._drop, self._uploads = drop, drop.uploads
        self.interrupted = False
        """Whether the session ended with files open: what was uploaded is incomplete."""
        self.announced = 0
        """The size of the next file, where the client says it first (scp)."""

    async def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> OpenedFile | Upload:
        file_path = parse_path(path)
        if not pflags & asyncssh.FXF_WRITE:
            return await self._open_for_reading(file_path)
        if self.announced < 0:
            raise asyncssh.SFTPBadMessage("a file cannot have a negative size")
        return await self._drop.open_upload(file_path, pflags, self.announced)

    async def _open_for_reading(self, path: str) -> OpenedFile:
        try:
            return await self._drop.read(path)
        except asyncssh.SFTPNoSuchFile:
            if self._uploading(path):
                raise asyncssh.SFTPFailure(f"{path} is being uploaded") from None
            raise

    async def close(self, file_obj: object) -> None:
        """Close a file. An upload becomes a file of the sandbox."""
        if not isinstance(file_obj, Upload):
            return
        try:
            await self._drop.finish(file_obj, complete=not self.interrupted)
        except (asyncssh.SFTPError, ReplyLost):
            if not self.interrupted:
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
        await self._drop.write(_require_upload(file_obj), offset, data)
        return len(data)

    async def stat(self, path: bytes) -> asyncssh.SFTPAttrs:
        """Describe a file or folder. A missing one is not logged as a refusal: clients look before they write."""
        file_path = parse_path(path)
        upload = self._uploads.find(file_path)
        if upload is not None:
            return upload_attrs(upload)
        if file_path:
            entry = await self._drop.result(ops.stat, ops.StatPath(path=file_path, missing="ok"), file_path)
        else:
            entry = await self._drop.result(ops.stat_outermost, ops.OutermostStat(), file_path)
        if entry is None:
            raise asyncssh.SFTPNoSuchFile(f"there is no file or folder {file_path}")
        return entry_attrs(entry)

    lstat = stat

    async def fstat(self, file_obj: object) -> asyncssh.SFTPAttrs:
        if isinstance(file_obj, Upload):
            return upload_attrs(file_obj)
        reading = cast(OpenedFile, file_obj)
        attrs = await self.stat(reading.path.encode())
        return file_attrs(len(reading.data), attrs.mtime or 0)

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
            await self._drop.set_modified(file_path, _check_time(attrs.mtime))

    lsetstat = setstat

    async def _truncate(self, path: str, size: int) -> None:
        upload = await self._drop.open_upload(path, asyncssh.FXF_WRITE)
        try:
            await self._drop.truncate(upload, size)
            await self._drop.finish(upload)
        finally:
            upload.release()

    async def fsetstat(self, file_obj: object, attrs: asyncssh.SFTPAttrs) -> None:
        """Set the size or the time of an open file; the time of an upload once it is written."""
        _refuse_owner(attrs)
        if attrs.size is not None:
            await self._drop.truncate(_require_upload(file_obj), attrs.size)
        if attrs.mtime is None:
            return
        if isinstance(file_obj, Upload):
            file_obj.modified = _check_time(attrs.mtime)
        else:
            await self._drop.set_modified(cast(OpenedFile, file_obj).path, _check_time(attrs.mtime))

    async def open_folder(self, path: bytes) -> Listing:
        """Open a folder: one event, however many packets it takes to list it."""
        file_path = parse_path(path)
        if file_path:
            summary = await self._drop.result(
                ops.list_folder, ops.FolderPage(path=file_path, only_count=True), file_path
            )
        else:
            summary = await self._drop.result(ops.list_outermost, ops.OutermostPage(only_count=True), file_path)
        assert isinstance(summary, ops.FolderSummary)
        return self._read_folder(summary, self._uploads.in_folder(file_path))

    async def _read_folder(self, folder: ops.FolderSummary, coming: dict[str, Upload]) -> Listing:
        """Yield a folder page by page. What changes meanwhile may be listed or not, but no name is listed twice."""
        now = int(folder.now.timestamp())
        for dot in (".", ".."):
            yield build_name(dot, folder_attrs(int(folder.modified.timestamp())), now)
        count, after = NAMES_PER_PACKET - 2, ""
        while True:
            page = await self._drop.page(folder.path, after, count)
            for entry in page:
                upload = coming.pop(entry.name, None)
                is_open = upload in self._uploads.opened
                yield build_name(entry.name, upload_attrs(upload) if upload and is_open else entry_attrs(entry), now)
            if len(page) < count:
                break
            count, after = NAMES_PER_PACKET, page[-1].name + "/" * page[-1].folder
        for name, upload in coming.items():
            yield build_name(name, upload_attrs(upload), now)

    async def scandir(self, path: bytes) -> Listing:
        """List a folder, for scp."""
        async for name in await self.open_folder(path):
            yield name

    async def remove(self, path: bytes) -> None:
        file_path = parse_path(path)
        await self._drop.result(ops.delete_file, ops.FilePath(path=file_path), file_path, self._uploading(file_path))

    async def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        file_path = parse_path(path)
        await self._drop.result(ops.make_folder, ops.FolderPath(path=file_path), file_path, self._uploading(file_path))

    async def rmdir(self, path: bytes) -> None:
        file_path = parse_path(path)
        await self._drop.result(
            ops.remove_folder, ops.FolderPath(path=file_path), file_path, self._uploading(file_path)
        )

    def realpath(self, path: bytes) -> bytes:
        return f"/{parse_path(path)}".encode()

    async def rename(self, oldpath: bytes, newpath: bytes, *, replace: bool = False) -> None:
        """Rename a file or folder; the new name must be free."""
        old, new = parse_path(oldpath), parse_path(newpath)
        await self._drop.rename(old, new, replace=replace, uploading=self._uploading(old, new))

    async def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        """Rename a file or folder; an existing file is replaced."""
        await self.rename(oldpath, newpath, replace=True)

    async def statvfs(self, path: bytes) -> asyncssh.SFTPVFSAttrs:
        """Return the quota and the free space."""
        await self.stat(path)
        return await self.fstatvfs(None)

    async def fstatvfs(self, file_obj: object) -> asyncssh.SFTPVFSAttrs:
        """Return the quota and the free space, in blocks of one byte."""
        space = await self._drop.result(ops.space, NO_INPUT, "")
        free = max(0, space.free - self._uploads.buffered_bytes)
        return asyncssh.SFTPVFSAttrs(bsize=4096, frsize=1, blocks=space.quota, bfree=free, bavail=free, namemax=255)

    def fsync(self, file_obj: object) -> None:
        """Do nothing: a file is stored when it is closed."""

    def _uploading(self, *paths: str) -> str:
        """Return the path of a file that is being uploaded at one of these paths, or below one; empty if none is."""
        uploads = [upload for path in filter(None, paths) if (upload := self._uploads.find_below(path)) is not None]
        return uploads[0].path if uploads else ""


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


def file_attrs(size: int, modified: int) -> asyncssh.SFTPAttrs:
    """Return the attributes of a file."""
    return _attrs(asyncssh.FILEXFER_TYPE_REGULAR, FILE_MODE, size, modified)


def folder_attrs(modified: int) -> asyncssh.SFTPAttrs:
    """Return the attributes of a folder."""
    return _attrs(asyncssh.FILEXFER_TYPE_DIRECTORY, FOLDER_MODE, 0, modified)


def upload_attrs(upload: Upload) -> asyncssh.SFTPAttrs:
    """Return the attributes of a file that is being uploaded."""
    return file_attrs(upload.size, upload.displayed_time)


def entry_attrs(entry: FileEntry) -> asyncssh.SFTPAttrs:
    """Return the attributes of a file or folder of the sandbox."""
    modified = int(entry.modified.timestamp())
    return folder_attrs(modified) if entry.folder else file_attrs(entry.size, modified)


def _attrs(kind: int, mode: int, size: int, modified: int) -> asyncssh.SFTPAttrs:
    at = min(max(modified, 0), MAX_TIME)
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
    at = time.gmtime(modified)
    hour = f"{at.tm_year:5}" if is_old else f"{at.tm_hour:02}:{at.tm_min:02}"
    return f"{MONTH_NAMES[at.tm_mon - 1][:3]} {at.tm_mday:2} {hour}"
