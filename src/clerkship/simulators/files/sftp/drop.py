"""A sandbox's files as a session reaches them: requests to its routes, and answers in the words of SFTP."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import orjson

from clerkship.sandbox.exchange import IMMEDIATE, Reply, Request
from clerkship.sandbox.listener import SandboxClient
from clerkship.simulators.files.sftp.listing import Listing
from clerkship.simulators.files.sftp.upload import TooLarge, TooScattered, Upload, Uploads
from clerkship.simulators.files.sftp.wire import Code, Entry
from clerkship.simulators.files.wire import CONTROL, PAGED

_CODES = {404: Code.NO_SUCH_FILE, 403: Code.PERMISSION_DENIED, 501: Code.OP_UNSUPPORTED}
NAMES_AT_ONCE = 400
MOST_HELD = 1_000_000_000
"""Bytes on their way into one sandbox, however much it may hold."""
T = TypeVar("T")
OVER = 401
"""What is answered once the run is over."""


class Refused(Exception):
    """The drop, or the session, says no."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class Broken(Exception):
    """The answer does not arrive: the connection breaks."""


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

    def __init__(self, post: SandboxClient, uploads: Uploads) -> None:
        self.post, self.uploads = post, uploads

    async def stat(self, path: str) -> Entry:
        """What is there; of a file on its way in, what has come. Clients look before they write: that nothing is there
        is no refusal of theirs."""
        upload = self.uploads.by_path.get(path)
        if upload is not None:
            return upload.entry
        found = await self._json("GET", _at("/stat", path), {"missing": "ok"})
        if found is None:
            raise Refused(Code.NO_SUCH_FILE, f"there is no file or folder {path}")
        return _parse_entry(found)

    async def open_folder(self, path: str) -> Listing:
        """A folder, with what is on its way into it; that it is looked at is one event, however long it is."""
        found = await self._json("GET", _at("/folders", path), headers={PAGED: "true"})
        coming = {
            upload.path.rpartition("/")[2]: upload
            for upload in self.uploads.by_path.values()
            if upload.path.rpartition("/")[0] == path
        }
        return Listing(self._look, found["path"], _seconds(found["modified"]), _seconds(found["now"]), coming)

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
        reply = await self._ask("GET", _at("/files", path))
        return Reading(path, reply.body, reply.delivery.promised is not None)

    async def begin(self, path: str, *, anew: bool, append: bool = False, size: int = 0) -> Upload:
        """Start to write a file, if it may be written; and at its size, if that is known."""
        _refuse_root(path)
        space = await self._json("GET", _at("/space", path), {"size": str(size)} if size else None)
        there = space["size"] is not None
        base = None if anew else space["size"]
        room = min(space["room"], MOST_HELD)
        return Upload(path, space["most"], room, self.uploads, there, base, append, _seconds(space["now"]))

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
            asked = {"size": str(large.size), "coming": str(upload.among.held - upload.held)}
            await self._ask("GET", _at("/space", upload.path), query=asked)
            raise Refused(Code.FAILURE, "too much is on its way at once") from None
        except TooScattered:
            raise Refused(Code.FAILURE, "the file comes in too many pieces") from None

    async def finish(self, upload: Upload, *, incomplete: bool = False) -> None:
        """Keep what has come; where some was refused that is a part, as on a disk that is full."""
        try:
            if upload.touched:
                await self._keep(upload, {"x-clerkship-incomplete": "true"} if incomplete or upload.failed else {})
        finally:
            upload.release()
        if upload.modified is not None:
            await self.touch(upload.path, upload.modified)

    async def _keep(self, upload: Upload, headers: dict[str, str]) -> None:
        if upload.base is None:
            body = upload.whole()
        else:
            parts = upload.parts()
            body = b"".join(piece for _, piece in parts)
            headers["x-clerkship-kept"] = str(upload.kept)
            headers["x-clerkship-parts"] = ",".join(f"{start}+{len(piece)}" for start, piece in parts)
        upload.release()  # before it is kept once more
        await self._ask("PUT", _at("/files", upload.path), body=body, headers=headers)

    async def touch(self, path: str, modified: int) -> None:
        """Say when a file was changed last."""
        at = datetime.fromtimestamp(modified, UTC).isoformat()
        await self._ask("PATCH", _at("/files", path), body=orjson.dumps({"modified": at}))

    async def rename(self, old: str, new: str, *, replace: bool) -> None:
        """Give it another name."""
        body = orjson.dumps({"from": old, "to": new, "replace": replace})
        await self._ask("POST", "/rename", body=body, apart=await self._look(lambda state: state.is_long(old)))

    async def remove(self, path: str) -> None:
        """Delete a file."""
        await self._ask("DELETE", _at("/files", path))

    async def make_folder(self, path: str) -> None:
        """Make a folder."""
        await self._ask("PUT", _at("/folders", path))

    async def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        await self._ask("DELETE", _at("/folders", path))

    async def space(self) -> tuple[int, int]:
        """Bytes that the drop may hold, and how many are free."""
        found = await self._json("GET", "/space")
        return found["quota"], max(0, found["free"] - self.uploads.held)

    async def _json(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        reply = await self._ask(method, path, query=query, headers=headers)
        if reply.delivery.promised is not None:
            raise Broken
        return orjson.loads(reply.body)

    async def _look(self, read: Callable[[Any], T]) -> T:
        await self._turn()
        return await self.post.look(read)

    async def _turn(self) -> None:
        """Wait until the sandbox has time: whoever asked it sooner would hold up everybody's loop."""
        while self.uploads.busy is not None:
            await asyncio.wait([self.uploads.busy])

    async def _send_apart(self, request: Request) -> Reply:
        """In a thread, because it takes a while and others want to be answered."""
        self.uploads.busy = asyncio.ensure_future(asyncio.to_thread(self.post.ask, request))
        try:
            reply = await self.uploads.busy
        finally:
            self.uploads.busy = None
        return reply if isinstance(reply, Reply) else await reply

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        apart: bool = False,
    ) -> Reply:
        request = Request(method, path, query or {}, headers or {}, body)
        await self._turn()
        reply = await (self._send_apart(request) if apart else self.post.send(request))
        if reply.lost or reply.status == OVER:
            raise Broken
        if reply.delivery is not IMMEDIATE and reply.delivery.over:
            await asyncio.sleep(reply.delivery.over)
        if not reply.ok:
            raise Refused(_CODES.get(reply.status, Code.FAILURE), _reason(reply))
        return reply


def _at(place: str, path: str) -> str:
    if "\n" in path:  # no route has it: the answer would be about routes
        raise Refused(Code.FAILURE, CONTROL)
    return f"{place}/{path}" if path else place


def _refuse_root(path: str) -> None:
    if not path:
        raise Refused(Code.FAILURE, "the drop itself is a folder")


def _reason(reply: Reply) -> str:
    """What a refusal says, if what is in the way has left it whole."""
    try:
        return str(orjson.loads(reply.body)["error"]["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return f"the drop answered {reply.status}"


@lru_cache(maxsize=4096)  # much is looked at again and again
def _seconds(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp())


def _parse_entry(found: Any) -> Entry:
    name = found["name"] if "name" in found else found["path"].rpartition("/")[2]
    return Entry(name, found["folder"], found["size"], _seconds(found["modified"]))
