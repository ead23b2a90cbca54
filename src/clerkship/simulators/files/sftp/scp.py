"""The protocol of scp before it went over SFTP (`scp -O`): lines and bytes, each acknowledged by a zero."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from clerkship.simulators.files.sftp.drop import Broken, Drop, Refused, parse_path
from clerkship.simulators.files.sftp.upload import Upload
from clerkship.simulators.files.sftp.wire import Code, Entry

DEEPEST = 64
CHUNK = 256 * 1024
LATEST = 0xFFFFFFFF
_DONE, _WARNING, _FATAL = b"\0", b"\1", b"\2"


class Gone(Exception):
    """The other side says that it has given up, or says nothing we know."""


@dataclass(frozen=True)
class Command:
    """What scp asks its other half to do."""

    sends: bool
    """Whether the drop's side sends."""
    recursive: bool
    times: bool
    folder: bool
    """Whether the target has to be a folder."""
    paths: tuple[str, ...]


def parse_command(text: str) -> Command | None:
    """`scp -t` or `-f` with its options and paths; None if it is anything else."""
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    if not words or words[0] not in ("scp", "/usr/bin/scp"):
        return None
    end = words.index("--") if "--" in words else len(words)
    options = "".join(word[1:] for word in words[1:end] if word.startswith("-"))
    paths = tuple(word for word in words[1:end] if not word.startswith("-")) + tuple(words[end + 1 :])
    if not set(options) <= set("tfrpdvq") or ("t" in options) == ("f" in options):
        return None
    if not paths or ("t" in options and len(paths) > 1):  # what is sent goes to one place
        return None
    return Command("f" in options, "r" in options, "p" in options, "d" in options, paths)


class Scp:
    """One transfer."""

    def __init__(
        self, drop: Drop, command: Command, reader: asyncio.StreamReader, write: Callable[[bytes], Awaitable[None]]
    ) -> None:
        self._drop, self._command, self._reader, self._write = drop, command, reader, write
        self._failed = False

    async def run(self) -> int:
        """All of it; the exit status."""
        try:
            if self._command.sends:
                await self._source()
            else:
                await self._sink()
        except (Gone, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            return 1
        return int(self._failed)

    async def _warn(self, refused: Refused, path: str) -> None:
        self._failed = True
        await self._write(_WARNING + f"scp: {path}: {refused.text}\n".encode())

    async def _acknowledged(self) -> bool:
        """Whether the other side goes along."""
        said = await self._reader.readexactly(1)
        if said == _DONE:
            return True
        await self._line()
        if said != _WARNING:
            raise Gone
        return False

    async def _line(self) -> str:
        line = await self._reader.readuntil(b"\n")
        return line[:-1].decode(errors="replace")

    async def _source(self) -> None:
        await self._acknowledged()
        for asked in self._command.paths:
            try:
                for path, entry in await self._matches(asked):
                    await self._send(path, entry, 0)
            except Refused as refused:
                await self._warn(refused, asked)

    async def _matches(self, asked: str) -> list[tuple[str, Entry]]:
        """What a path names; it may have `*`, `?` and `[]` in its last part, as a shell would have it."""
        path = parse_path(asked.encode())
        folder, _, pattern = path.rpartition("/")
        if not any(mark in pattern for mark in "*?["):
            return [(path, await self._drop.stat(path))]
        names = [entry for entry in await self._drop.list(folder) if fnmatchcase(entry.name, pattern)]
        if not names:
            raise Refused(Code.NO_SUCH_FILE, "No such file or directory")
        return [(f"{folder}/{entry.name}".lstrip("/"), entry) for entry in names]

    async def _send(self, path: str, entry: Entry, depth: int) -> None:
        try:
            if not entry.folder:
                await self._send_file(path, entry)
            elif not self._command.recursive:
                raise Refused(Code.FAILURE, "not a regular file")
            elif depth >= DEEPEST:
                raise Refused(Code.FAILURE, "too deep")
            else:
                await self._send_folder(path, entry, depth)
        except Refused as refused:
            await self._warn(refused, path)

    async def _head(self, entry: Entry, line: str) -> bool:
        if self._command.times:
            await self._write(f"T{entry.modified} 0 {entry.modified} 0\n".encode())
            await self._acknowledged()
        await self._write(f"{line} {entry.name or '/'}\n".encode())
        return await self._acknowledged()

    async def _send_file(self, path: str, entry: Entry) -> None:
        found = await self._drop.read(path)
        size = entry.size if found.cut else len(found.data)
        if not await self._head(entry, f"C0644 {size}"):
            return
        data = memoryview(found.data)
        for start in range(0, len(data), CHUNK):
            await self._write(bytes(data[start : start + CHUNK]))
        if found.cut:
            raise Broken
        await self._write(_DONE)
        await self._acknowledged()

    async def _send_folder(self, path: str, entry: Entry, depth: int) -> None:
        inside = await self._drop.list(path)
        if not await self._head(entry, "D0755 0"):
            return
        for each in inside:
            await self._send(f"{path}/{each.name}".lstrip("/"), each, depth + 1)
        await self._write(b"E\n")
        await self._acknowledged()

    async def _sink(self) -> None:
        target = parse_path(self._command.paths[-1].encode())
        is_folder = await self._is_folder(target)
        if self._command.folder and not is_folder:
            await self._write(_FATAL + f"scp: {target}: not a directory\n".encode())
            raise Gone
        await self._write(_DONE)
        await self._receive(target, is_folder=is_folder)

    async def _is_folder(self, path: str) -> bool:
        try:
            return (await self._drop.stat(path)).folder
        except Refused:
            return False

    async def _receive(self, target: str, *, is_folder: bool) -> None:
        """What comes for one place. Folders are kept on a stack, so that no depth is a danger."""
        folders: list[tuple[str, bool]] = [(target, is_folder)]
        modified: int | None = None
        while folders:
            kind = await self._reader.read(1)
            if not kind:
                return
            line = await self._line()
            here, inside = folders[-1]
            if kind == b"T":
                modified = _parse_time(line)
                await self._write(_DONE)
            elif kind == b"E":
                folders.pop()
                await self._write(_DONE)
            elif kind in b"CD":
                _, size, name = line.split(" ", 2)
                path = _inside(here, name) if inside else here
                if kind == b"C":
                    await self._take_file(path, int(size), modified)
                elif await self._take_folder(path, len(folders)):
                    folders.append((path, True))
                modified = None
            elif kind != _WARNING:
                raise Gone

    async def _take_folder(self, path: str, depth: int) -> bool:
        try:
            if depth > DEEPEST:
                raise Refused(Code.FAILURE, "too deep")
            if not self._command.recursive:
                raise Refused(Code.FAILURE, "received directory without -r")
            if not await self._is_folder(path):
                await self._drop.make_folder(path)
        except Refused as refused:
            await self._warn(refused, path)
            return False
        await self._write(_DONE)
        return True

    async def _take_file(self, path: str, size: int, modified: int | None) -> None:
        try:
            upload = await self._drop.begin(path, anew=True, size=size)
        except Refused as refused:
            await self._warn(refused, path)
            return
        upload.modified = modified
        await self._write(_DONE)
        try:
            await self._fill(upload, size)
            if await self._acknowledged():
                await self._drop.finish(upload)
        except Refused as refused:
            await self._warn(refused, path)
            return
        finally:
            upload.release()
        await self._write(_DONE)

    async def _fill(self, upload: Upload, size: int) -> None:
        """As many bytes as were said; where they are too many after all, they come all the same, and a part is kept."""
        trouble: Refused | None = None
        while size > 0:
            data = await self._reader.read(min(size, CHUNK))
            if not data:
                await self._drop.finish(upload, incomplete=True)
                raise Gone
            size -= len(data)
            if trouble is None:
                try:
                    await self._drop.write(upload, upload.size, memoryview(data))
                except Refused as refused:
                    trouble = refused
        if trouble is not None:
            await self._acknowledged()
            await self._drop.finish(upload)
            raise trouble


def _parse_time(line: str) -> int:
    """Seconds of a `T` line, as far as SFTP can say them too."""
    seconds = int(line.partition(" ")[0])
    if not 0 <= seconds <= LATEST:
        raise Gone
    return seconds


def _inside(folder: str, name: str) -> str:
    """One name, and not a path: a client does not say where else things go."""
    if name in ("", ".", "..") or "/" in name:
        raise Gone
    return f"{folder}/{name}" if folder else name
