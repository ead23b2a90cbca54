"""Measure phone calls: calls through a menu, calls open at once, an idle line, a played representative, pushes.

    python -m benchmarks.voice [--quick]

A call through the menu is 14 HTTP requests on one connection. Beside it stands a plain server of Python's standard
library that walks through the same tree with a dictionary: it has no time, no log and no far ends, so the ratio says
what these cost. Each case is measured in a process of its own, and everything ends by itself.
"""

import argparse
import gc
import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks.processes import measure_case, measure_idle, resident
from benchmarks.table import render_table
from benchmarks.voice_chat import run_played
from benchmarks.voice_office import MENU, SERVERS, STEPS, measure_menu, open_site
from clerkship.sandbox.websocket import WebSocketMessage
from clerkship.simulators.voice.events import FarEndSpoke
from clerkship.simulators.voice.handle import Voice
from clerkship.simulators.voice.state import VoiceState
from clerkship.simulators.voice.websocket import VoiceSocket

CALLS = 200
"""Calls through the menu of each server."""
OPEN = 1_000
IDLE = 300
GROWN = 2_000
"""Calls after which the cost of one more is measured."""
CONVERSATIONS = 50
PUSHES = 100
"""Prompts of one call that are pushed."""


def run_menu(calls: int) -> dict[str, float]:
    """Return calls a second through the menu, by wall time and by processor time of the server."""
    ours, plain = measure_menu("sandbox", calls), measure_menu("plain", calls)
    return {"ours": ours.rate, "plain": plain.rate, "ours_cpu": ours.per_cpu_second, "plain_cpu": plain.per_cpu_second}


def run_open(calls: int) -> dict[str, float]:
    """Return the processor seconds in which so many calls are answered, and choose; and the memory of each."""
    office = open_site()
    playground, sandboxes = office.open()
    phone = sandboxes.get_as(Voice)
    phone.hang_up(phone.dial(MENU))
    gc.collect()
    before, began = resident(), time.process_time()
    dialled = [phone.dial(MENU)["id"] for _ in range(calls)]
    playground.advance(timedelta(seconds=9))
    answered = time.process_time() - began
    gc.collect()
    used = resident() - before
    assert len(phone.calls(status="connected")) == calls
    began = time.process_time()
    for call in dialled:
        phone.press(call, "1")
    pressed = time.process_time() - began
    office.listener.close()
    return {"answered": answered, "pressed": pressed, "kilobytes": used / calls}


def run_idle(playgrounds: int) -> dict[str, float]:
    """Return the kilobytes of an idle playground with a telephone, and the microseconds in which a day passes on it."""
    return measure_idle(open_site(), playgrounds)


def run_grown(calls_before: int) -> dict[str, float]:
    """Return the milliseconds of processor time of a call through the menu at the start, and after so many calls.

    The calls between end at the first menu, because the number of events is limited.
    """
    office = open_site()
    _, sandboxes = office.open()
    phone = sandboxes.get_as(Voice)

    def call_often(number: int) -> float:
        began = time.process_time()
        for _ in range(number):
            walk(phone)
        return (time.process_time() - began) / number * 1_000

    sample = max(5, calls_before // 20)
    call_often(sample)
    first = call_often(sample)
    for _ in range(calls_before):
        call = phone.dial(MENU)
        phone.hear(call)
        phone.hang_up(call)
    last = call_often(sample)
    office.listener.close()
    return {"first": first, "last": last}


def walk(phone: Voice) -> None:
    """Make a call through the whole menu."""
    call = phone.dial(MENU)["id"]
    for keys in STEPS:
        phone.hear(call)
        phone.press(call, keys)
    words = phone.listen(call)
    assert "Goodbye" in words, words


class _CountingSession:
    """A WebSocket that counts what is pushed."""

    def __init__(self) -> None:
        self.pushed = 0

    def send(self, message: WebSocketMessage) -> None:
        self.pushed += 1

    def close(self, code: int = 1000, reason: str = "") -> None:
        pass


def run_pushes(calls: int) -> dict[str, float]:
    """Return the microseconds of processor time of a push, with one open call and with so many."""
    return {"one": _time_pushes(1), "many": _time_pushes(calls)}


def _time_pushes(calls: int) -> float:
    office = open_site()
    playground, sandboxes = office.open()
    phone = sandboxes.get_as(Voice)
    last = [phone.dial(MENU)["id"] for _ in range(calls)][-1]
    playground.advance(timedelta(seconds=9))
    state = playground.sandboxes["phone"].state
    assert isinstance(state, VoiceState)
    socket, session = VoiceSocket(), _CountingSession()
    socket.on_open(session)
    socket.on_event(FarEndSpoke.kind, state)
    session.pushed, spent = 0, 0
    for _ in range(PUSHES):
        turns = len(state.find_call(last).turns)
        phone.press(last, "*")  # the prompt is repeated
        assert len(state.find_call(last).turns) > turns
        began = time.process_time_ns()
        socket.on_event(FarEndSpoke.kind, state)
        spent += time.process_time_ns() - began
    assert session.pushed >= PUSHES, session.pushed
    office.listener.close()
    return spent / session.pushed / 1_000


CASES: dict[str, Callable[[int], dict[str, float]]] = {
    "menu": run_menu,
    "open": run_open,
    "idle": run_idle,
    "grown": run_grown,
    "played": run_played,
    "pushes": run_pushes,
}
SIZES = {"menu": CALLS, "open": OPEN, "idle": IDLE, "grown": GROWN, "played": CONVERSATIONS, "pushes": OPEN}
QUICK_SIZES = {"menu": 2, "open": 10, "idle": 5, "grown": 5, "played": 1, "pushes": 5}


def measure(case: str, size: int) -> dict[str, float]:
    """Measure one case in a process of its own."""
    return measure_case("benchmarks.voice", case, size)


def compare(menu: dict[str, float], played: dict[str, float]) -> str:
    """Return the table of what has something beside it."""
    rows = [
        ("calls through six nodes, over HTTP", "/s", menu["ours"], "plain server", menu["plain"], ""),
        ("… per second of the server's CPU time", "/s", menu["ours_cpu"], "plain server", menu["plain_cpu"], "≥ 200/s"),
        (
            "a conversation with a played representative",
            " ms",
            played["phone"],
            "the same as a chat",
            played["chat"],
            "",
        ),
    ]
    return render_table(
        ("what", "telephone", "beside it", "ratio", "aim"),
        [
            (what, f"{ours:,.1f}{unit}", f"{plain:,.1f}{unit} ({other})", f"{ours / plain:.2f}", aim)
            for what, unit, ours, other, plain, aim in rows
        ],
    )


def list_costs(sizes: dict[str, int]) -> str:
    """Measure the rest, and return its table."""
    calls, idle = measure("open", sizes["open"]), measure("idle", sizes["idle"])
    grown, pushes = measure("grown", sizes["grown"]), measure("pushes", sizes["pushes"])
    rows = [
        (f"CPU time of {sizes['open']:,} calls that are dialled and answered", f"{calls['answered']:.2f} s"),
        ("… a key pressed in each", f"{calls['pressed']:.2f} s"),
        ("… memory of each, with its events", f"{calls['kilobytes']:.1f} KB"),
        ("an idle playground with a telephone", f"{idle['kilobytes']:.1f} KB"),
        ("… a simulated day passes", f"{idle['microseconds']:.0f} µs"),
        ("CPU time of a call through six nodes at the start", f"{grown['first']:.2f} ms"),
        (f"… after {sizes['grown']:,} calls", f"{grown['last']:.2f} ms"),
        ("CPU time of a push over the WebSocket with one open call", f"{pushes['one']:.1f} µs"),
        (f"… with {sizes['pushes']:,} open calls", f"{pushes['many']:.1f} µs"),
    ]
    return render_table(("sandbox", "measured"), rows)


def main() -> None:
    """Parse the command line, and print the tables or the figures of one case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="that it works at all: seconds instead of minutes")
    parser.add_argument("--case", choices=(*CASES, *SERVERS), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=1, help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.case in SERVERS:
        SERVERS[options.case]()
    elif options.case:
        print(json.dumps(CASES[options.case](options.size)))
    else:
        sizes = QUICK_SIZES if options.quick else SIZES
        print(compare(measure("menu", sizes["menu"]), measure("played", sizes["played"])), flush=True)
        print(f"\n{list_costs(sizes)}", flush=True)


if __name__ == "__main__":
    main()
