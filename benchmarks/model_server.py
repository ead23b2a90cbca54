"""An OpenAI-compatible endpoint in its own process: it answers after a delay, and measures how busy it was.

    python -m benchmarks.model_server SECONDS

prints its address. It implements only the HTTP that is needed, so that its own work is small.
"""

import asyncio
import subprocess
import sys
import time
from types import TracebackType
from typing import Self
from urllib.request import urlopen

import orjson

ANSWER = orjson.dumps(
    {
        "reasoning": "In [T1] the agent says so.",
        "citations": [{"where": "T1", "quote": "late by two days"}],
        "passed": True,
    }
)


class ConcurrencyMeter:
    """The number of concurrent requests over time."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Reset the measurement."""
        self.now = self.most = self.calls = 0
        self.area = 0.0
        self.first = self.last = 0.0

    def change(self, by: int) -> None:
        """Count a request that started or ended."""
        at = time.perf_counter()
        self.first = self.first or at
        self.area += self.now * (at - self.last) if self.last else 0.0
        self.last = at
        self.now += by
        self.calls += by > 0
        self.most = max(self.most, self.now)

    def told(self) -> bytes:
        """Return the measurement, and reset it."""
        seconds = self.last - self.first
        told = {"calls": self.calls, "most": self.most, "seconds": seconds, "mean": self.area / (seconds or 1.0)}
        self.forget()
        return orjson.dumps(told)


async def serve(latency: float) -> None:
    """Serve until the process is stopped."""
    busy = ConcurrencyMeter()
    usage = {"prompt_tokens": 900, "completion_tokens": 40}
    message = {"role": "assistant", "content": ANSWER.decode()}
    answer = orjson.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            length = next((int(line[15:]) for line in head if line.lower().startswith(b"content-length:")), 0)
            await reader.readexactly(length)
            if head[0].startswith(b"GET"):
                body = busy.told()
            else:
                busy.change(1)
                await asyncio.sleep(latency)
                busy.change(-1)
                body = answer
            told = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(told.encode() + body)
        writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1\n")
    sys.stdout.flush()
    await server.serve_forever()


async def _head(reader: asyncio.StreamReader) -> list[bytes]:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return []


class ModelServer:
    """A running endpoint."""

    def __init__(self, latency: float) -> None:
        command = [sys.executable, "-m", "benchmarks.model_server", str(latency)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def busy(self) -> dict[str, float]:
        """Return how busy it was since the last call."""
        with urlopen(f"{self.address}/busy", timeout=10) as found:
            told: dict[str, float] = orjson.loads(found.read())
        return told

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
