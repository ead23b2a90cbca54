"""Agents that use the whole agent interface, in this process and in their own process."""

import asyncio
import contextvars
import datetime
import os
import subprocess
import sys
import threading
from typing import Any

from clerkship.actors.agent_data import History, Message, Say, Start
from clerkship.events.agent import ActionExecuted, SlotSet
from clerkship.sandbox.handle import Refused
from clerkship.sandbox.request import Request
from clerkship.simulators.files.handle import Files

reported_events = ["agent.slot.set"]
VISITS = contextvars.ContextVar("visits", default=0)


class Talker:
    """Uses every feature of a conversation."""

    reported_events = ("agent.slot.set", "agent.action.executed")

    def __init__(self) -> None:
        self.turns = 0

    def on_start(self, start: Start) -> list[Any]:
        return [SlotSet(name="desk", value=start.slots["desk"]), "Welcome!"]

    def on_history(self, history: History) -> None:
        self.turns = len(history.turns)
        self.last = [str(part) for part in history.turns[-1].answer]

    async def on_turn(self, message: Message, sandboxes: Any) -> Any:
        await asyncio.sleep(0)
        VISITS.set(VISITS.get() + 1)
        self.turns += 1
        drop = sandboxes["drop"]
        sandboxes.report(ActionExecuted(name="before", arguments={"turn": message.turn}))
        drop.write(f"{message.turn}.txt", b"\xff\x00 raw")
        event = sandboxes.report(SlotSet(name="seen", value={"now": sandboxes.now.isoformat()}))
        drop.write("seq.txt", str((event.seq, event.kind, event.at.isoformat())).encode())
        return self.reply(message, sandboxes)

    def reply(self, message: Message, sandboxes: Any) -> Any:
        """Return another kind of reply in each turn."""
        button = {"title": "Yes", "payload": "/yes"}
        replies: list[Any] = [
            f"{message.text} {message.slots} {message.task_item} {VISITS.get()}",
            [
                Say("a", "utter_a", (button,), {}, {"image": "x"}),
                None,
                {"text": "b"},
                SlotSet(name="n", value=[1.5, None]),
            ],
            ({"text": "tuple"}, datetime.date(2026, 1, 1) if message.turn > 5 else "é\ud800"),
            {"kind": "agent.slot.set", "name": "m", "value": sandboxes.wait("90m")},
            None,
            "bye",
        ]
        return replies[(self.turns - 1) % len(replies)]


def works(task_item: dict[str, Any], sandboxes: Any) -> dict[str, Any]:
    """Use every feature of handles, and return the results."""
    drop, found = sandboxes.get_as(Files), dict[str, Any]()
    sys.stdout.write("printed by Python\n")
    subprocess.run(["echo", "printed by a child"], check=True, timeout=120)
    try:
        drop.read("nowhere.txt")
    except Refused as error:
        found["refused"] = str(error)
    try:
        sandboxes["nobody"]
    except KeyError as error:
        found["unknown"] = str(error)
    try:
        sandboxes.wait(-1)
    except ValueError as error:
        found["negative"] = f"{type(error).__name__}: {error}"
    try:
        sandboxes.wait("99000d")
    except ValueError as error:
        found["too far"] = f"{type(error).__name__}: {error}"
    try:
        sandboxes.report(Message("x", 1, "chat"))
    except TypeError as error:
        found["not a report"] = str(error)
    found["nothing due"] = sandboxes.wait()
    found["status"] = drop.send_as_is(Request("BREW", "/files/x")).status
    found["routes"] = [route.operation.name for route in drop.routes][:3]
    found["call"] = drop.call("write_file", {"path": "called", "data": b"\xff"}).status
    found["refused call"] = drop.call("read_file", {"path": "nowhere"}).status
    try:
        drop.call("fly")
    except ValueError as error:
        found["unknown call"] = str(error)
    found["address"] = drop.url.startswith("http://127.0.0.1:") and drop.token.startswith("clk_")
    found["input"] = sys.stdin.read() if os.environ.get("CLERKSHIP_PROCESS") else ""
    threads = [threading.Thread(target=drop.write, args=(f"{number}", b"x")) for number in range(4)]
    for thread in threads:
        thread.start()
        thread.join(60)
    drop.write("big.bin", b"0123456789" * 500_000)
    found["big"] = len(drop.read("big.bin"))
    return found
