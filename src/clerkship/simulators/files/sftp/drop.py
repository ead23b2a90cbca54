"""A sandbox's files as a session reaches them: calls of its operations, and answers in the words of SFTP."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple, TypeVar

import orjson

from clerkship.sandbox.exchange import IMMEDIATE, Reply
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.operation import NO_INPUT, OK, Operation, OperationCall, OperationContext
from clerkship.simulators.files import operations as ops
from clerkship.simulators.files.patch import Patch
from clerkship.simulators.files.paths import CONTROL
from clerkship.simulators.files.sftp.listing import Listing
from clerkship.simulators.files.sftp.upload import TooLarge, TooScattered, Upload, Uploads
from clerkship.simulators.files.sftp.wire import Code, Entry

_CODES = {404: Code.NO_SUCH_FILE, 403: Code.PERMISSION_DENIED, 501: Code.OP_UNSUPPORTED}
NAMES_AT_ONCE = 400
MAX_HELD_BYTES = 1_000_000_000
"""Bytes on their way into one sandbox, however much it may hold."""
T = TypeVar("T")
InputT = TypeVar("InputT")
ResultT = TypeVar("ResultT")
OVER = 401
"""What is answered once the run is over."""


class Refused(Exception):
    """The drop, or the session, says no."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class Broken(Exception):
    """The answer does not arrive: the connection breaks."""


class SftpCall(OperationCall[InputT, ResultT]):
    """A call of an operation over SFTP. The path is what the log says it is about."""

    transport: ClassVar[str] = "sftp"

    def __init__(self, operation: Operation[InputT, ResultT], input: InputT, path: str, body: bytes = b"") -> None:
        super().__init__(operation, input, f"/{path}", body)

    def render(self, context: OperationContext[Any], result: ResultT) -> Reply:
        """Answer with the result; what is not bytes stands for the packet it will be, for faults that cut it."""
        body = result if isinstance(result, bytes) else b"" if result is None else orjson.dumps(result, default=list)
        return Reply(OK, body, result=result)


class Reading(NamedTuple):
    """A file as it was when it was opened."""

    path: str
    data: bytes
    cut: bool = False
    """Whether there would be more, but the connection breaks there."""


def parse_path(data: bytes) -> str:
    """A path inside the drop, without a slash before it; nothing is the drop itself. There is nothing above it."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Refused(Code.FAILURE, "a name is text in UTF-8") from None
    parts: list[str] = []
    for part in text.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


class Drop:
    """What a session can do there. Everything but what it holds in its own hands is asked of the sandbox."""

    def __init__(self, client: SandboxClient, uploads: Uploads) -> None:
        self.client, self.uploads = client, uploads

    async def stat(self, path: str) -> Entry:
        """What is there; of a file on its way in, what has come. Clients look before they write: that nothing is there
        is no refusal of theirs."""
        upload = self.uploads.by_path.get(path)
        if upload is not None:
            return upload.entry
        if path:
            entry = await self._result(ops.stat, ops.StatPath(path=path, missing="ok"), path)
        else:
            entry = await self._result(ops.stat_outermost, ops.OutermostStat(), path)
        if entry is None:
            raise Refused(Code.NO_SUCH_FILE, f"there is no file or folder {path}")
        name, folder, size, modified = entry
        return Entry(name.rpartition("/")[2], folder, size, int(modified.timestamp()))

    async def open_folder(self, path: str) -> Listing:
        """A folder, with what is on its way into it; that it is looked at is one event, however long it is."""
        if path:
            found = await self._result(ops.list_folder, ops.FolderPage(path=path, only_count=True), path)
        else:
            found = await self._result(ops.list_outermost, ops.OutermostPage(only_count=True), path)
        assert isinstance(found, ops.FolderSummary)
        coming = {
            upload.path.rpartition("/")[2]: upload
            for upload in self.uploads.by_path.values()
            if upload.path.rpartition("/")[0] == path
        }
        return Listing(self._look, found.path, int(found.modified.timestamp()), int(found.now.timestamp()), coming)

    async def list(self, path: str) -> list[Entry]:
        """All that is in a folder."""
        listing = await self.open_folder(path)
        found: list[Entry] = []
        while some := await listing.page(NAMES_AT_ONCE):
            found += some
            await asyncio.sleep(0)  # others have their turn
        return found

    async def read(self, path: str) -> Reading:
        """A file's bytes."""
        _refuse_root(path)
        reply = await self._call(SftpCall(ops.read_file, ops.FilePath(path=path), path))
        return Reading(path, reply.body, reply.delivery.promised is not None)

    async def begin(self, path: str, *, anew: bool, append: bool = False, size: int = 0) -> Upload:
        """Start to write a file, if it may be written; and at its size, if that is known."""
        _refuse_root(path)
        space = await self._result(ops.space_for, ops.FileSize(path=path, size=size), path)
        base = None if anew else space.size
        room, now = min(space.room, MAX_HELD_BYTES), int(space.now.timestamp())
        return Upload(path, space.most, room, self.uploads, space.size is not None, base, append, now)

    async def write(self, upload: Upload, offset: int, data: memoryview) -> None:
        """Some more of a file. Once some is refused, no more is taken: a file with a hole in it helps nobody."""
        if upload.failed:
            raise Refused(Code.FAILURE, "some of the file was refused already")
        try:
            await self._bounded(upload, lambda: upload.write(offset, data))
        except Refused:
            upload.failed = True
            raise

    async def lay_under(self, upload: Upload) -> None:
        """Have the file that is there read and written both."""
        reading = await self.read(upload.path)
        await self._bounded(upload, lambda: upload.lay_under(reading.data))

    async def cut(self, upload: Upload, size: int) -> None:
        """Make a file shorter, or longer with zeros."""
        await self._bounded(upload, lambda: upload.truncate(size))

    async def _bounded(self, upload: Upload, change: Callable[[], None]) -> None:
        """The sandbox is asked only once it is too much, so that its no is in the log."""
        try:
            change()
        except TooLarge as large:
            coming = upload.among.held - upload.held
            size = ops.FileSize(path=upload.path, size=large.size, coming=coming)
            await self._result(ops.space_for, size, upload.path)
            raise Refused(Code.FAILURE, "too much is on its way at once") from None
        except TooScattered:
            raise Refused(Code.FAILURE, "the file comes in too many pieces") from None

    async def finish(self, upload: Upload, *, incomplete: bool = False) -> None:
        """Keep what has come; where some was refused that is a part, as on a disk that is full."""
        try:
            if upload.touched:
                await self._keep(upload, complete=not (incomplete or upload.failed))
        finally:
            upload.release()
        if upload.modified is not None:
            await self.touch(upload.path, upload.modified)

    async def _keep(self, upload: Upload, *, complete: bool) -> None:
        patch = None
        if upload.base is None:
            data = upload.whole()
        else:
            parts = upload.parts()
            data = b"".join(piece for _, piece in parts)
            patch = Patch(upload.kept, tuple((start, len(piece)) for start, piece in parts))
        upload.release()  # before it is kept once more
        file = ops.NewFile(path=upload.path, data=data, complete=complete, patch=patch)
        await self._call(SftpCall(ops.write_file, file, upload.path, data))

    async def touch(self, path: str, modified: int) -> None:
        """Set when a file was changed last."""
        at = datetime.fromtimestamp(modified, UTC)
        body = orjson.dumps({"modified": at.isoformat()})
        await self._call(SftpCall(ops.stamp_file, ops.NewTime(path=path, modified=at), path, body))

    async def rename(self, old: str, new: str, *, replace: bool) -> None:
        """Give a file or folder another name."""
        body = orjson.dumps({"from": old, "to": new, "replace": replace})
        names = ops.NewName.model_construct(path=old, to=new, replace=replace)
        is_long = await self._look(lambda state: state.is_long(old))
        await self._call(SftpCall(ops.rename, names, "", body), in_thread=is_long)

    async def remove(self, path: str) -> None:
        """Delete a file."""
        await self._result(ops.delete_file, ops.FilePath(path=path), path)

    async def make_folder(self, path: str) -> None:
        """Make a folder."""
        await self._result(ops.make_folder, ops.FolderPath(path=path), path)

    async def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        await self._result(ops.remove_folder, ops.FolderPath(path=path), path)

    async def space(self) -> tuple[int, int]:
        """Bytes that the drop may hold, and how many are free."""
        found = await self._result(ops.space, NO_INPUT, "")
        return found.quota, max(0, found.free - self.uploads.held)

    async def _result(self, operation: Operation[InputT, ResultT], input: InputT, path: str) -> ResultT:
        reply = await self._call(SftpCall(operation, input, path))
        if reply.delivery.promised is not None:
            raise Broken
        result: ResultT = reply.result
        return result

    async def _look(self, read: Callable[[Any], T]) -> T:
        await self._turn()
        return await self.client.read_state(read)

    async def _turn(self) -> None:
        """Wait until the sandbox has time: whoever asked it sooner would hold up everybody's loop."""
        while self.uploads.busy is not None:
            await asyncio.wait([self.uploads.busy])

    async def _call_in_thread(self, call: SftpCall[Any, Any]) -> Reply:
        """Call an operation that takes a while, so that other clients are answered meanwhile."""
        self.uploads.busy = asyncio.ensure_future(asyncio.to_thread(self.client.call_now, call))
        try:
            reply = await self.uploads.busy
        finally:
            self.uploads.busy = None
        return reply if isinstance(reply, Reply) else await reply

    async def _call(self, call: SftpCall[Any, Any], *, in_thread: bool = False) -> Reply:
        if "\n" in call.target:
            raise Refused(Code.FAILURE, CONTROL)
        await self._turn()
        reply = await (self._call_in_thread(call) if in_thread else self.client.call(call))
        if reply.lost or reply.status == OVER:
            raise Broken
        if reply.delivery is not IMMEDIATE and reply.delivery.over:
            await asyncio.sleep(reply.delivery.over)
        if reply.refusal is not None:
            raise Refused(_CODES.get(reply.status, Code.FAILURE), reply.refusal.reason)
        return reply


def _refuse_root(path: str) -> None:
    if not path:
        raise Refused(Code.FAILURE, "the drop itself is a folder")
