"""One SFTP session: packets in, packets out, one after the other, in order."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from clerkship.simulators.files.sftp.drop import NAMES_AT_ONCE, Broken, Drop, Reading, Refused, parse_path
from clerkship.simulators.files.sftp.listing import Listing
from clerkship.simulators.files.sftp.upload import TooScattered, Upload
from clerkship.simulators.files.sftp.wire import (
    GROUP,
    MOST_DATA,
    OWNER,
    Attrs,
    BadPacket,
    Code,
    Entry,
    Fields,
    Flag,
    Kind,
    render_attrs,
    render_data,
    render_handle,
    render_limits,
    render_names,
    render_path,
    render_space,
    render_status,
    render_version,
)

MOST_HANDLES = 256
"""Files and folders one session may have open."""
COPIED_AT_ONCE = 4 * 1024 * 1024
EXTENSIONS = (
    (b"posix-rename@openssh.com", b"1"),
    (b"statvfs@openssh.com", b"2"),
    (b"fstatvfs@openssh.com", b"2"),
    (b"fsync@openssh.com", b"1"),
    (b"lsetstat@openssh.com", b"1"),
    (b"limits@openssh.com", b"1"),
    (b"expand-path@openssh.com", b"1"),
    (b"copy-data", b"1"),
)


Handle = Reading | Upload | Listing
Pieces = list[bytes | memoryview]
Answer = bytes | Pieces
Answering = Callable[["Session", int, Fields], Awaitable[Answer]]


class Session:
    """What one client has open, and how each of its requests is answered."""

    def __init__(self, drop: Drop) -> None:
        self.drop = drop
        self._handles: dict[bytes, Handle] = {}
        self._count = 0
        self._begun = False

    async def answer(self, packet: memoryview) -> Pieces:
        """To one packet. Raises Broken where the connection does not outlive it."""
        fields = Fields(packet[1:])
        if not self._begun:
            return [self._begin(packet[0], fields)]
        number = fields.number()
        try:
            answer = await _ANSWERS.get(packet[0], Session._unsupported)(self, number, fields)
        except Refused as refused:
            answer = render_status(number, refused.code, refused.text)
        except BadPacket as flaw:
            answer = render_status(number, Code.BAD_MESSAGE, str(flaw))
        return [answer] if isinstance(answer, bytes) else answer

    def answer_at_once(self, packet: memoryview) -> Pieces | None:
        """To what nobody else need be asked about, and most packets are: bytes of a file, one way or the other."""
        if packet[0] == Kind.WRITE:
            return self._write_at_once(packet)
        if packet[0] == Kind.READ:
            return self._read_at_once(packet)
        return None

    async def end(self) -> None:
        """The client is gone: what it was writing is kept as far as it came."""
        uploads = [handle for handle in self._handles.values() if isinstance(handle, Upload)]
        self._handles.clear()
        try:
            for upload in uploads:
                with suppress(Refused, Broken):
                    await self.drop.finish(upload, incomplete=True)
        finally:
            for upload in uploads:
                upload.release()

    def _begin(self, kind: int, fields: Fields) -> bytes:
        if kind != Kind.INIT or fields.number() < 3:
            raise BadPacket("a session begins with version 3 or later")
        self._begun = True
        return render_version(EXTENSIONS)

    def _write_at_once(self, packet: memoryview) -> Pieces | None:
        fields = Fields(packet[1:])
        try:
            number, handle, offset, data = fields.number(), self._handles[fields.string()], fields.long(), fields.view()
        except (BadPacket, KeyError):
            return None
        if not isinstance(handle, Upload) or not handle.takes(offset, len(data)):
            return None
        try:
            handle.write(offset, data)
        except TooScattered:
            return None
        return [render_status(number, Code.OK)]

    def _read_at_once(self, packet: memoryview) -> Pieces | None:
        fields = Fields(packet[1:])
        try:
            number, handle, offset, length = (
                fields.number(),
                self._handles[fields.string()],
                fields.long(),
                fields.number(),
            )
        except (BadPacket, KeyError):
            return None
        if not isinstance(handle, Reading) or offset >= len(handle.data):
            return None
        return render_data(number, memoryview(handle.data)[offset : offset + min(length, MOST_DATA)])

    def _open_handle(self, handle: Handle) -> bytes:
        self._count += 1
        name = self._count.to_bytes(4, "big")
        self._handles[name] = handle
        return name

    def _refuse_more(self) -> None:
        if len(self._handles) >= MOST_HANDLES:
            raise Refused(Code.FAILURE, f"{MOST_HANDLES} files and folders are open already")

    def _handle(self, fields: Fields) -> Handle:
        handle = self._handles.get(fields.string())
        if handle is None:
            raise Refused(Code.FAILURE, "no such handle")
        return handle

    def _upload(self, fields: Fields) -> Upload:
        handle = self._handle(fields)
        if not isinstance(handle, Upload):
            raise Refused(Code.PERMISSION_DENIED, "it is not open for writing")
        return handle

    async def _open(self, number: int, fields: Fields) -> bytes:
        path, flags, _ = parse_path(fields.string()), fields.number(), fields.attrs()
        self._refuse_more()
        opened = await self._write_to(path, flags) if flags & Flag.WRITE else await self.drop.read(path)
        return render_handle(number, self._open_handle(opened))

    async def _write_to(self, path: str, flags: int) -> Upload:
        """By the rules of open(2); what is not cut off stays."""
        exclusive = flags & Flag.CREAT and flags & Flag.EXCL
        upload = await self.drop.begin(path, anew=bool(flags & Flag.TRUNC), append=bool(flags & Flag.APPEND))
        try:
            if exclusive and upload.there:
                raise Refused(Code.FAILURE, f"{path} is there already")
            if not upload.there and not flags & Flag.CREAT:
                raise Refused(Code.NO_SUCH_FILE, f"there is no file {path}")
            if flags & Flag.READ and upload.base is not None:
                await self.drop.lay_under(upload)
        except BaseException:
            upload.release()
            raise
        return upload

    async def _close(self, number: int, fields: Fields) -> bytes:
        handle = self._handles.pop(fields.string(), None)
        if handle is None:
            raise Refused(Code.FAILURE, "no such handle")
        if isinstance(handle, Upload):
            await self.drop.finish(handle)
        return render_status(number, Code.OK)

    async def _read(self, number: int, fields: Fields) -> Answer:
        handle, offset, length = self._handle(fields), fields.long(), min(fields.number(), MOST_DATA)
        data = self._bytes_of(handle, offset, length)
        if not data and length:
            raise Refused(Code.EOF, "End of file")
        return render_data(number, memoryview(data))

    def _bytes_of(self, handle: Handle, offset: int, length: int) -> bytes:
        if isinstance(handle, Reading):
            if handle.cut and offset >= len(handle.data):
                raise Broken
            return handle.data[offset : offset + length]
        if isinstance(handle, Upload) and handle.base is None:
            return handle.read(offset, length)
        raise Refused(Code.PERMISSION_DENIED, "it is not open for reading")

    async def _write(self, number: int, fields: Fields) -> bytes:
        upload, offset, data = self._upload(fields), fields.long(), fields.view()
        await self.drop.write(upload, offset, data)
        return render_status(number, Code.OK)

    async def _stat(self, number: int, fields: Fields) -> bytes:
        return render_attrs(number, await self.drop.stat(parse_path(fields.string())))

    async def _fstat(self, number: int, fields: Fields) -> bytes:
        handle = self._handle(fields)
        if isinstance(handle, Upload):
            return render_attrs(number, handle.entry)
        found = await self.drop.stat(handle.path)
        size = len(handle.data) if isinstance(handle, Reading) else found.size
        return render_attrs(number, found._replace(size=size))

    async def _setstat(self, number: int, fields: Fields) -> bytes:
        path, attrs = parse_path(fields.string()), fields.attrs()
        _refuse_owner(attrs)
        await self.drop.stat(path)
        if attrs.size is not None:
            upload = await self.drop.begin(path, anew=False)
            try:
                await self.drop.cut(upload, attrs.size)
                await self.drop.finish(upload)
            finally:
                upload.release()
        if attrs.modified is not None:
            await self.drop.touch(path, attrs.modified)
        return render_status(number, Code.OK)

    async def _fsetstat(self, number: int, fields: Fields) -> bytes:
        handle, attrs = self._handle(fields), fields.attrs()
        _refuse_owner(attrs)
        if not isinstance(handle, Upload):
            if attrs.size is not None:
                raise Refused(Code.PERMISSION_DENIED, "it is not open for writing")
            if attrs.modified is not None:
                await self.drop.touch(handle.path, attrs.modified)
            return render_status(number, Code.OK)
        if attrs.size is not None:
            await self.drop.cut(handle, attrs.size)
        if attrs.modified is not None:
            handle.modified = attrs.modified  # once it is written: writing changes it
        return render_status(number, Code.OK)

    async def _opendir(self, number: int, fields: Fields) -> bytes:
        path = parse_path(fields.string())
        self._refuse_more()
        return render_handle(number, self._open_handle(await self.drop.open_folder(path)))

    async def _readdir(self, number: int, fields: Fields) -> bytes:
        handle = self._handle(fields)
        if not isinstance(handle, Listing):
            raise Refused(Code.FAILURE, "it is not a folder")
        dots = [] if handle.begun else [Entry(name, True, 0, handle.modified) for name in (".", "..")]
        some = dots + await handle.page(NAMES_AT_ONCE)
        if not some:
            raise Refused(Code.EOF, "End of file")
        return render_names(number, some, handle.now)

    async def _remove(self, number: int, fields: Fields) -> bytes:
        await self.drop.remove(parse_path(fields.string()))
        return render_status(number, Code.OK)

    async def _mkdir(self, number: int, fields: Fields) -> bytes:
        await self.drop.make_folder(parse_path(fields.string()))
        return render_status(number, Code.OK)

    async def _rmdir(self, number: int, fields: Fields) -> bytes:
        await self.drop.remove_folder(parse_path(fields.string()))
        return render_status(number, Code.OK)

    async def _realpath(self, number: int, fields: Fields) -> bytes:
        return render_path(number, "/" + parse_path(fields.string()))

    async def _rename(self, number: int, fields: Fields) -> bytes:
        await self.drop.rename(parse_path(fields.string()), parse_path(fields.string()), replace=False)
        return render_status(number, Code.OK)

    async def _posix_rename(self, number: int, fields: Fields) -> bytes:
        await self.drop.rename(parse_path(fields.string()), parse_path(fields.string()), replace=True)
        return render_status(number, Code.OK)

    async def _statvfs(self, number: int, fields: Fields) -> bytes:
        await self.drop.stat(parse_path(fields.string()))
        return render_space(number, *await self.drop.space())

    async def _fstatvfs(self, number: int, fields: Fields) -> bytes:
        self._handle(fields)
        return render_space(number, *await self.drop.space())

    async def _fsync(self, number: int, fields: Fields) -> bytes:
        """A file is kept once it is closed; until then it is as safe as it will be."""
        self._handle(fields)
        return render_status(number, Code.OK)

    async def _limits(self, number: int, _: Fields) -> bytes:
        return render_limits(number, MOST_HANDLES)

    async def _expand_path(self, number: int, fields: Fields) -> bytes:
        """Everybody's home is the drop itself."""
        path = fields.string()
        return render_path(number, "/" + parse_path(path[1:] if path[:1] == b"~" else path))

    async def _copy_data(self, number: int, fields: Fields) -> bytes:
        """From one open file to another (draft-ietf-secsh-filexfer-extensions-00 §7); 0 is all there is. As OpenSSH
        has it, never from a file to itself."""
        source, start, length = self._handle(fields), fields.long(), fields.long()
        target, at = self._upload(fields), fields.long()
        if source.path == target.path:
            raise Refused(Code.FAILURE, "a file is not copied onto itself")
        end = start + length if length else 1 << 63
        while start < end and (data := self._bytes_of(source, start, min(COPIED_AT_ONCE, end - start))):
            await self.drop.write(target, at, memoryview(data))
            start, at = start + len(data), at + len(data)
            await asyncio.sleep(0)  # others have their turn
        return render_status(number, Code.OK)

    async def _extended(self, number: int, fields: Fields) -> Answer:
        return await _EXTENDED.get(fields.string(), Session._unsupported)(self, number, fields)

    async def _unsupported(self, number: int, _: Fields) -> bytes:
        raise Refused(Code.OP_UNSUPPORTED, "the drop does not do that")


def _refuse_owner(attrs: Attrs) -> None:
    """Nobody can be given a file. Permissions are passed over: clients send them along with a file's times."""
    if attrs.owner is not None and attrs.owner != (OWNER, GROUP):
        raise Refused(Code.OP_UNSUPPORTED, "the drop's files have one owner")


_ANSWERS: dict[int, Answering] = {
    Kind.OPEN: Session._open,
    Kind.CLOSE: Session._close,
    Kind.READ: Session._read,
    Kind.WRITE: Session._write,
    Kind.LSTAT: Session._stat,
    Kind.STAT: Session._stat,
    Kind.FSTAT: Session._fstat,
    Kind.SETSTAT: Session._setstat,
    Kind.FSETSTAT: Session._fsetstat,
    Kind.OPENDIR: Session._opendir,
    Kind.READDIR: Session._readdir,
    Kind.REMOVE: Session._remove,
    Kind.MKDIR: Session._mkdir,
    Kind.RMDIR: Session._rmdir,
    Kind.REALPATH: Session._realpath,
    Kind.RENAME: Session._rename,
    Kind.EXTENDED: Session._extended,
}
_EXTENDED: dict[bytes, Answering] = {
    b"posix-rename@openssh.com": Session._posix_rename,
    b"statvfs@openssh.com": Session._statvfs,
    b"fstatvfs@openssh.com": Session._fstatvfs,
    b"fsync@openssh.com": Session._fsync,
    b"lsetstat@openssh.com": Session._setstat,
    b"limits@openssh.com": Session._limits,
    b"expand-path@openssh.com": Session._expand_path,
    b"copy-data": Session._copy_data,
}
