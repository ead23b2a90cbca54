"""The TCP listener and its connections, over loopback."""

import asyncio
from collections.abc import Awaitable, Callable

from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.tcp import OpenPort, TcpConnection, TcpListener

HOST = "127.0.0.1"


class EchoConnection(TcpConnection):
    """Returns the bytes it receives; `end` closes the connection with a last reply."""

    received = 0

    @property
    def is_evictable(self) -> bool:
        return False

    def refuse_connection(self) -> None:
        self.close_with(b"full")

    def sweep_input(self, now: float) -> None:
        """Close the connection if nothing was received in time."""
        if not self.received and now - self._active_at > self.limits.idle:
            self.leave()

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        if not self._ignores_input:
            self.close_with(b"bye") if data == b"end" else self._transport.write(data)


def run_with_listener(limits: ConnectionLimits, use: Callable[[TcpListener, OpenPort], Awaitable[None]]) -> None:
    async def run() -> None:
        listener = TcpListener(limits, max_connections=100)
        port = listener.open_port(HOST)
        await port.serve(EchoConnection)
        listener.start_sweeping()
        try:
            await asyncio.wait_for(use(listener, port), 10)
        finally:
            await listener.close()

    asyncio.run(run())


def test_connection_beyond_the_limit_gets_a_refusal_and_is_closed() -> None:
    async def use(_: TcpListener, port: OpenPort) -> None:
        first, writer = await asyncio.open_connection(HOST, port.number)
        writer.write(b"x")
        assert await first.readexactly(1) == b"x"
        second, other = await asyncio.open_connection(HOST, port.number)
        assert await second.read() == b"full"
        writer.close()
        other.close()

    run_with_listener(ConnectionLimits(connections=1), use)


def test_last_reply_reaches_a_client_that_is_still_sending() -> None:
    async def use(_: TcpListener, port: OpenPort) -> None:
        reader, writer = await asyncio.open_connection(HOST, port.number)
        writer.write(b"end")
        assert await reader.readexactly(3) == b"bye"
        writer.write(b"x" * 1_000_000)  # no reset: the connection lingers
        await writer.drain()
        assert await reader.read() == b""
        writer.close()

    run_with_listener(ConnectionLimits(), use)


def test_idle_connection_is_closed_by_the_sweep() -> None:
    async def use(listener: TcpListener, port: OpenPort) -> None:
        reader, writer = await asyncio.open_connection(HOST, port.number)
        assert await reader.read() == b""
        writer.close()
        assert len(listener.table) == 0

    run_with_listener(ConnectionLimits(idle=0.05), use)


def test_closing_a_port_closes_only_its_connections() -> None:
    async def use(listener: TcpListener, port: OpenPort) -> None:
        own = listener.open_port(HOST, name="own")
        assert listener.open_port(HOST, name="own") is own
        await own.serve(EchoConnection)
        assert listener.numbers() == [port.number, own.number]
        mine, mine_writer = await asyncio.open_connection(HOST, own.number)
        other, other_writer = await asyncio.open_connection(HOST, port.number)
        for reader, writer in ((mine, mine_writer), (other, other_writer)):
            writer.write(b"x")
            assert await reader.readexactly(1) == b"x"
        await listener.close_port("own")
        assert await mine.read() == b""
        other_writer.write(b"y")
        assert await other.readexactly(1) == b"y"
        mine_writer.close()
        other_writer.close()

    run_with_listener(ConnectionLimits(), use)


def test_client_that_does_not_read_is_dropped_after_the_idle_timeout() -> None:
    async def use(listener: TcpListener, port: OpenPort) -> None:
        reader, writer = await asyncio.open_connection(HOST, port.number, limit=1)
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
        [connection] = port.connections
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"x" * 30_000_000)
        assert await connection.wait_gone(10)
        assert len(listener.table) == 0
        writer.close()

    run_with_listener(ConnectionLimits(idle=0.2), use)
