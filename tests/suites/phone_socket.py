"""Reference solutions of `suites/phone` that make and take their calls over the WebSocket of the telephone."""

import json
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.suites.overridden_solutions import Agent, load_solution
from tests.suites.suite_checks import Solve
from tests.suites.test_shipped import ROOT

PHONE = ROOT / "suites" / "phone"
TIMEOUT = 20
"""Seconds in which an answer must come."""


class SocketPhone:
    """The methods of the telephone that solutions use, each as a message over the WebSocket."""

    def __init__(self, client: ClientConnection) -> None:
        self._client, self._ids = client, count(1)
        self.pushes: list[dict[str, Any]] = []
        """What the telephone has sent without being asked."""

    def dial(self, to: str) -> Any:
        """Call a number."""
        return self._do("dial", to=to)

    def hear(self, call: Mapping[str, Any], seconds: float | None = None) -> Any:
        """Listen until the far end waits."""
        return self._do("hear", call=call["id"], **({} if seconds is None else {"seconds": seconds}))

    def listen(self, call: Mapping[str, Any], seconds: float | None = None) -> str:
        """Return the words that were heard."""
        return " ".join(part["text"] for part in self.hear(call, seconds)["heard"] if "text" in part)

    def wait(self, call: Mapping[str, Any], seconds: float) -> Any:
        """Stay on the line."""
        return self._do("wait", call=call["id"], seconds=seconds)

    def say(self, call: Mapping[str, Any], text: str) -> Any:
        """Say something."""
        return self._do("say", call=call["id"], text=text)

    def press(self, call: Mapping[str, Any], digits: str) -> Any:
        """Press keys."""
        return self._do("press", call=call["id"], digits=digits)

    def hang_up(self, call: Mapping[str, Any]) -> Any:
        """End a call."""
        return self._do("hang_up", call=call["id"])

    def answer(self, call: Mapping[str, Any]) -> Any:
        """Answer a call that rings."""
        return self._do("answer", call=call["id"])

    def show_call(self, call: Mapping[str, Any]) -> Any:
        """Return all that was said in a call."""
        return self._do("call", call=call["id"])

    def calls(self, **filters: str) -> Any:
        """List calls."""
        return self._do("calls", **filters)["calls"]

    def voicemails(self, **filters: str) -> Any:
        """List voicemails."""
        return self._do("voicemails", **filters)["voicemails"]

    def read_voicemail(self, id: str) -> Any:
        """Play a voicemail."""
        return self._do("read_voicemail", voicemail=id)

    def mark_voicemail(self, id: str, *, read: bool = True) -> Any:
        """Mark a voicemail as heard, or as new."""
        return self._do("mark_voicemail", voicemail=id, read=read)

    def _do(self, command: str, **fields: Any) -> Any:
        id = next(self._ids)
        self._client.send(json.dumps({"id": id, "do": command, **fields}))
        while True:
            reply = json.loads(self._client.recv(TIMEOUT))
            if "event" in reply:
                self.pushes.append(reply)
                continue
            assert reply["id"] == id, reply
            assert "error" not in reply, reply
            return reply["result"]


class SocketSandboxes:
    """All sandboxes, with the telephone over its WebSocket."""

    def __init__(self, sandboxes: Any, phone: SocketPhone) -> None:
        self._sandboxes, self._phone = sandboxes, phone

    def __getitem__(self, name: str) -> Any:
        """One of them."""
        return self._phone if name == "phone" else self._sandboxes[name]

    def __getattr__(self, name: str) -> Any:
        """The clock."""
        return getattr(self._sandboxes, name)


def solve_over_socket(suite: Path, name: str) -> Agent:
    """Return a reference solution whose telephone is the WebSocket."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        handle = sandboxes["phone"]
        url = f"ws{handle.url.removeprefix('http')}/socket"
        headers = {"Authorization": f"Bearer {handle.token}"}
        with connect(url, additional_headers=headers, proxy=None) as client:
            phone = SocketPhone(client)
            answer = load_solution(suite, name)(task_item, SocketSandboxes(sandboxes, phone))
            assert phone.pushes, "the telephone pushed nothing about its calls"
            return answer

    return on_task


TASKS = {
    "misheard_digit": "Book a peer-to-peer call*",
    "pharmacy_asks_for_npi": "Authorize a refill*",
    "triage_voicemails": "Turn the voicemails*",
    "two_calls_at_once": "Call a patient while*",
    "verify_the_caller": "Tell callers*",
    "wrong_transfer": "Tell a wrong department nothing*",
}
"""Solutions that use the socket, and their tasks: calls out, calls in, several calls, and voicemail."""
RIGHT: dict[str, tuple[str, Solve]] = {
    f"over the socket: {name}": (task, solve_over_socket(PHONE, name)) for name, task in TASKS.items()
}
"""How it is done -> the task and the solution."""
