"""The SFTP packet handler: asyncssh's, with limits, fairness between clients, and broken connections on faults."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncssh
from asyncssh.constants import FXP_NAME, FXP_READLINK
from asyncssh.packet import PacketDecodeError, SSHPacket
from asyncssh.sftp import MAX_SFTP_PACKET_LEN, SFTPServerHandler

from clerkship.simulators.files.sftp.server import MAX_DATA_BYTES, DropServer

VERSION = 3
"""The version of SFTP that OpenSSH speaks."""
MAX_HANDLES = 256
"""Files and folders that one session may have open."""
PACKETS_PER_TURN = 16
"""Packets of one session that are answered before other clients have their turn."""
EXIT_FAILED = 255
"""The exit status of a session that violated the protocol, as in OpenSSH."""
EXPAND_PATH = b"expand-path@openssh.com"
_EXTENSIONS = {
    b"posix-rename@openssh.com": b"1",
    b"statvfs@openssh.com": b"2",
    b"fstatvfs@openssh.com": b"2",
    b"fsync@openssh.com": b"1",
    b"lsetstat@openssh.com": b"1",
    b"limits@openssh.com": b"1",
    EXPAND_PATH: b"1",
    b"copy-data": b"1",
}


def _break_on_error(name: str) -> Any:
    """Wrap a packet handler to break the connection where asyncssh would reply with the text of an exception."""

    async def answer(handler: "SftpHandler", packet: SSHPacket) -> object:
        try:
            return await getattr(handler, name)(packet)
        except (asyncssh.SFTPError, PacketDecodeError):
            raise
        except Exception:  # a fault, the end of the run, or a bug, which the run has recorded
            handler.break_connection()
            raise asyncssh.SFTPConnectionLost("the connection is lost") from None

    return answer


def _build_packet_handlers() -> dict[int | bytes, Any]:
    """Return the handlers of each packet type of version 3 and each extension. A drop has no links."""
    answers: dict[int | bytes, Any] = {**SFTPServerHandler._packet_handlers}
    kinds = [kind for kind in answers if (kind in _EXTENSIONS if isinstance(kind, bytes) else kind < FXP_READLINK)]
    return {kind: _break_on_error(answers[kind].__name__) for kind in kinds} | {
        EXPAND_PATH: _break_on_error("_process_expand_path")
    }


class SftpHandler(SFTPServerHandler):
    """One session. Answers packets one at a time."""

    _extensions = [*_EXTENSIONS.items()]
    _packet_handlers = _build_packet_handlers()
    _return_types = SFTPServerHandler._return_types | {EXPAND_PATH: FXP_NAME}
    _server: DropServer
    _file_handles: dict[bytes, Any]
    _answered = 0

    async def run(self) -> None:
        """Answer packets until the session ends."""
        try:
            await super().run()
        except EOFError:  # before the first packet
            await self._cleanup(None)

    def _log_packet(self, *args: object) -> None:
        """Log nothing: to describe a packet costs as much as to parse it."""

    def break_connection(self) -> None:
        """Close the connection at once."""
        self._server.connection.abort()

    async def _process_packet(self, pkttype: int, pktid: int, packet: SSHPacket) -> None:
        """Answer a packet; then wait until the client has read its replies, and let other clients run."""
        await super()._process_packet(pkttype, pktid, packet)
        if self._writer is not None:
            await self._writer.drain()
        self._answered += 1
        if self._answered % PACKETS_PER_TURN == 0:
            await asyncio.sleep(0)

    async def _cleanup(self, exc: Exception | None) -> None:
        """End the session. Files that are open were not closed by the client."""
        self._server.interrupted = True
        self._server.channel.exit(EXIT_FAILED if exc else 0)
        await super()._cleanup(exc)

    async def _process_open(self, packet: SSHPacket) -> bytes:
        self._refuse_more_handles()
        return await super()._process_open(packet)

    async def _process_opendir(self, packet: SSHPacket) -> bytes:
        """Open a folder now, not when it is first read: a missing one is refused here, as OpenSSH does."""
        path = packet.get_string()
        packet.check_end()
        self._refuse_more_handles()
        listing: AsyncIterator[asyncssh.SFTPName] = await self._server.open_folder(path)
        handle = self._get_next_handle()
        self._dir_handles[handle] = listing
        return handle

    def _refuse_more_handles(self) -> None:
        if len(self._file_handles) + len(self._dir_handles) >= MAX_HANDLES:
            raise asyncssh.SFTPFailure(f"{MAX_HANDLES} files and folders are open already")

    async def _process_limits(self, packet: SSHPacket) -> asyncssh.SFTPLimits:
        return asyncssh.SFTPLimits(MAX_SFTP_PACKET_LEN, MAX_DATA_BYTES, MAX_DATA_BYTES, MAX_HANDLES)

    async def _process_expand_path(self, packet: SSHPacket) -> tuple[list[asyncssh.SFTPName], bool]:
        """Every home folder is the drop itself."""
        path = packet.get_string().removeprefix(b"~")
        return [asyncssh.SFTPName(self._server.realpath(path))], False

    async def _process_copy_data(self, packet: SSHPacket) -> None:
        """Copy between open files. A file is not copied onto itself, as in OpenSSH: it would grow without end."""
        source_handle, start, length = packet.get_string(), packet.get_uint64(), packet.get_uint64()
        target_handle, at = packet.get_string(), packet.get_uint64()
        packet.check_end()
        source, target = self._file_handles.get(source_handle), self._file_handles.get(target_handle)
        if source is None or target is None:
            raise asyncssh.SFTPInvalidHandle("invalid file handle")
        if source.path == target.path:
            raise asyncssh.SFTPFailure("a file cannot be copied onto itself")
        end = start + length if length else 1 << 63  # 0 is to the end of the file
        while start < end and (data := self._server.read(source, start, end - start)):
            await self._server.write(target, at, data)
            start, at = start + len(data), at + len(data)
            await asyncio.sleep(0)
