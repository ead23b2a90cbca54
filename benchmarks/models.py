"""Measure what the model proxy adds to a call: beside the same call without it, whole and streamed, and many at once.

    python -m benchmarks.models [--calls 300] [--agents 200]

Provider, proxy and client are processes of their own. The client calls in turn directly and through the proxy; each
figure is the median. The answer of the provider is a constant, so that it costs nothing. After the first part of a
stream it pauses, as a model does; the other parts come at once, which no model does.
"""

import argparse
import asyncio
import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from benchmarks.processes import cpu_seconds, start_server
from benchmarks.table import print_table
from clerkship.model.environment import Environment
from clerkship.model.run_options import RecordingMode
from clerkship.model_proxy.proxy import ModelProxy
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.playground import Playground
from clerkship.providers.connections import ProviderAccount
from clerkship.recording.recorded_calls import CallRecording
from clerkship.recording.session import RecordingSession

MODULE = "benchmarks.models"
KEY = "sk-of-the-benchmark"
THINKING = 1.0
"""Seconds that the provider takes for a call of one of many agents."""
CALLS_OF_AGENT = 3
QUESTION = {"role": "user", "content": "How many boxes were ordered? " * 100}
CHAT: dict[str, Any] = {"model": "gpt-4o", "messages": [QUESTION], "temperature": 0}
USAGE = {"prompt_tokens": 800, "completion_tokens": 60}
CHUNKS = 60
PAUSE = 0.005
"""Seconds between the first two parts of a stream."""
AIMS = {"whole": "≤ 1.5 ms", "first": "≤ 1 ms"}


def _event(delta: dict[str, str]) -> bytes:
    data = {"id": "chatcmpl-1", "model": "gpt-4o", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    return f"data: {json.dumps(data)}\n\n".encode()


def _whole() -> bytes:
    message = {"role": "assistant", "content": "words " * CHUNKS}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    body = json.dumps({"id": "chatcmpl-1", "model": "gpt-4o", "choices": choices, "usage": USAGE}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


WHOLE = _whole()
EVENTS = [_event({"content": "words "}) for _ in range(CHUNKS)] + [b"data: [DONE]\n\n"]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


# The servers.


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            size = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            body = json.loads(await reader.readexactly(int(size.partition(b":")[2])))
            await asyncio.sleep(body.get("seed", 0) / 1000)  # the client says how long to think
            if not body.get("stream"):
                writer.write(WHOLE)
                continue
            writer.write(HEAD)
            for number, event in enumerate(EVENTS):
                writer.write(b"%x\r\n%b\r\n" % (len(event), event))
                await writer.drain()
                await asyncio.sleep(0 if number else PAUSE)
            writer.write(b"0\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _serve_provider() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    sys.stdin.readline()
    port = server.sockets[0].getsockname()[1]
    print(json.dumps({"url": f"http://127.0.0.1:{port}", "pid": os.getpid()}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def _serve_proxy(provider: str, mode: RecordingMode | None = None, cassette: str = "") -> None:
    """Open a trial for each line that is read. With a mode, its calls are recorded or replayed."""
    gateway = Gateway()
    listener = open_http(gateway)
    account = ProviderAccount("openai", f"{provider}/v1", KEY, "OPENAI_API_KEY")
    proxy = gateway.models = ModelProxy([account], lambda provider, model: None)
    session = RecordingSession(mode, {MODULE: Path(cassette)} if mode else {})
    for _ in sys.stdin:
        playground = Playground(Environment(name="desk", simulators={}), {}, "desk")
        recording = CallRecording(session, (MODULE, 1), playground) if mode else None
        address = proxy.open_trial(playground, listener.url, recording)["openai"]
        print(json.dumps({"url": address.base_url, "key": address.api_key, "pid": os.getpid()}), flush=True)
    listener.close()
    session.save()


# The client.


class Place(NamedTuple):
    """Where calls go."""

    url: str
    key: str
    pid: int


class Caller:
    """One connection to a place."""

    def __init__(self, place: Place) -> None:
        parts = urlsplit(place.url)
        self._path = f"{parts.path}/chat/completions"
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {place.key}"}

    def call(self, **fields: Any) -> tuple[float, float]:
        """Call once; return the seconds until the first part of the response, and until its end."""
        body, began = json.dumps(CHAT | fields), time.perf_counter()
        self._connection.request("POST", self._path, body, self._headers)
        response = self._connection.getresponse()
        response.read1(1)
        first = time.perf_counter() - began
        response.read()
        assert response.status == 200
        return first, time.perf_counter() - began

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def measure_calls(places: dict[str, Place], calls: int, **fields: Any) -> dict[str, tuple[float, float, float]]:
    """Call each place in turn; return the medians of first part and end, and the CPU seconds per call."""
    callers = {name: Caller(place) for name, place in places.items()}
    for caller in callers.values():
        caller.call(**fields)
    before = {name: cpu_seconds(place.pid) for name, place in places.items()}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in places}
    for _ in range(calls):
        for name, caller in callers.items():
            taken[name].append(caller.call(**fields))
    for caller in callers.values():
        caller.close()
    used = {name: (cpu_seconds(place.pid) - before[name]) / calls for name, place in places.items()}
    return {
        name: (median(first for first, _ in each), median(end for _, end in each), used[name])
        for name, each in taken.items()
    }


def measure_agents(places: list[Place]) -> float:
    """Let an agent at each place make its calls, all at the same time; return the seconds until all are done."""

    def work(place: Place) -> None:
        with closing(Caller(place)) as caller:
            for _ in range(CALLS_OF_AGENT):
                caller.call(seed=THINKING * 1000)

    threads = [threading.Thread(target=work, args=(place,)) for place in places]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def measure_replay(provider: str, calls: int) -> float:
    """Record the calls of an agent, and replay them without the provider; return the seconds of a replayed call."""
    with TemporaryDirectory() as folder:
        for case in (f"record={provider}", "replay=http://127.0.0.1:1"):
            with start_server(MODULE, f"{case}={folder}/cassette.jsonl") as open_trial:
                [taken] = measure_calls({case: to_place(open_trial())}, calls).values()
    return taken[1]


def to_place(address: dict[str, Any]) -> Place:
    """Return the place at an address that a server printed."""
    return Place(address["url"], address.get("key", KEY), address["pid"])


def run(calls: int, agents: int) -> list[list[str]]:
    """Return the rows of the table."""
    with ExitStack() as stack:
        provider = to_place(stack.enter_context(start_server(MODULE, "provider"))())
        open_trial: Callable[[], dict[str, Any]] = stack.enter_context(start_server(MODULE, f"proxy={provider.url}"))
        places = {"direct": provider._replace(url=f"{provider.url}/v1"), "proxy": to_place(open_trial())}
        whole = measure_calls(places, calls)
        streamed = measure_calls(places, calls, stream=True, stream_options={"include_usage": True})
        trials = [to_place(open_trial()) for _ in range(agents)]
        took = measure_agents([places["direct"]] * agents), measure_agents(trials)
        replayed = measure_replay(provider.url, calls)
    rows = [
        _row("whole response", [each[1] for each in whole.values()], AIMS["whole"]),
        _row("first part of a stream", [each[0] for each in streamed.values()], AIMS["first"]),
        _row(f"stream of {CHUNKS} parts", [each[1] for each in streamed.values()], ""),
    ]
    cpu = f"{whole['proxy'][2] * 1000:.2f} ms whole, {streamed['proxy'][2] * 1000:.2f} ms streamed"
    many = f"{agents} agents at once, {CALLS_OF_AGENT} calls of {THINKING:g} s each"
    return [
        *rows,
        ["processor time of the proxy for a call", "", cpu, "", ""],
        ["replayed calls of one agent", "", f"{1 / replayed:,.0f} /s", "", ""],
        [many, f"{took[0]:.2f} s", f"{took[1]:.2f} s", f"{took[1] - took[0]:+.2f} s", ""],
    ]


def _row(name: str, seconds: list[float], aim: str) -> list[str]:
    direct, proxied = (1000 * each for each in seconds)
    return [name, f"{direct:.2f} ms", f"{proxied:.2f} ms", f"{proxied - direct:+.2f} ms", aim]


def main() -> None:
    """Print the table, or serve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--case", default="")
    options = parser.parse_args()
    if options.case == "provider":
        asyncio.run(_serve_provider())
    elif options.case:
        name, provider, *cassette = options.case.split("=")
        _serve_proxy(provider, None if name == "proxy" else cast(RecordingMode, name), *cassette)
    else:
        print_table(["a model call", "direct", "through the proxy", "added", "aim"], run(options.calls, options.agents))


if __name__ == "__main__":
    main()
