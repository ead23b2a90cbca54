"""Nobody is kept waiting by what another client does, and nobody is left without an answer."""

import struct

from clerkship.simulators.files.sftp.wire import Code, Flag, Kind, string
from tests.simulators.files.conftest import Serve
from tests.simulators.files.test_sftp_bad_input import Raw, raw, within

ANEW = Flag.READ | Flag.WRITE | Flag.CREAT | Flag.TRUNC
BOTH = Flag.READ | Flag.WRITE


async def opened(session: Raw, path: bytes, flags: int) -> bytes:
    """The handle of a file, as it goes into a packet."""
    kind, handle = await session.ask(Kind.OPEN, struct.pack(">I", 1) + string(path) + struct.pack(">II", flags, 0))
    assert kind == Kind.HANDLE, handle
    return handle


async def written(session: Raw, handle: bytes, data: bytes, offset: int = 0) -> Code:
    """How a write went."""
    return await session.code(Kind.WRITE, handle, struct.pack(">Q", offset), string(data))


async def copied(session: Raw, source: bytes, start: int, length: int, target: bytes, at: int) -> Code:
    """How a copy went."""
    there, here = struct.pack(">QQ", start, length), struct.pack(">Q", at)
    return await session.code(Kind.EXTENDED, string(b"copy-data"), source, there, target, here)


def test_no_file_is_copied_onto_itself(serve: Serve) -> None:
    """It would grow ahead of the copy, byte by byte, up to all that the drop may hold. OpenSSH refuses it too."""
    drop = serve()

    async def work(session: Raw) -> None:
        handle = await opened(session, b"inbox/x", ANEW)
        assert await written(session, handle, b"z") is Code.OK
        assert await copied(session, handle, 0, 0, handle, 1) is Code.FAILURE
        again = await opened(session, b"inbox/x", ANEW)
        assert await copied(session, handle, 0, 0, again, 1) is Code.FAILURE
        assert await session.code(Kind.CLOSE, again) is Code.OK
        assert await session.code(Kind.CLOSE, handle) is Code.OK

    within(5, raw(drop, work))
    assert drop.state.records["inbox/x"] == b"z"
