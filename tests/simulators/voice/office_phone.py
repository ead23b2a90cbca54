"""The telephone of a clinic in a playground: a `voice` sandbox with some lines, and a client."""

from datetime import timedelta
from typing import Any, Self

import orjson

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import Request
from clerkship.simulators.voice import SPEC
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.records import PhoneCall
from clerkship.simulators.voice.state import VoiceState

OWN = "+15550100100"
MENU = "+15550100201"
BUSY = "+15550100202"
SILENT = "+15550100203"
GONE = "+15550100204"
LOOP = "+15550100205"
ANSWERPHONE = "+15550100206"
TREE: dict[str, Any] = {
    "name": "office",
    "start": "welcome",
    "nodes": {
        "welcome": {"type": "say", "prompt": "Welcome. Calls are recorded.", "interruptible": False, "next": "main"},
        "main": {
            "type": "menu",
            "prompt": "For billing press 1, for claims press 2, to wait press 3, for another office press 4.",
            "choices": [
                {"key": "1", "speech": ["billing"], "next": "billing"},
                {"key": "2", "speech": ["claims"], "next": "claims"},
                {"key": "3", "next": "queue"},
                {"key": "4", "next": "other"},
            ],
        },
        "billing": {
            "type": "collect",
            "prompt": "Enter your account number, then press pound.",
            "variable": "account",
            "min_length": 4,
            "max_length": 6,
            "next": "account",
        },
        "account": {"type": "say", "prompt": "Account {account|digits} is paid.", "next": "main"},
        "claims": {"type": "end", "prompt": "The claims office is closed today. Goodbye."},
        "queue": {"type": "queue", "wait": "10m", "announce_every": "2m", "next": "claims"},
        "other": {"type": "transfer", "number": ANSWERPHONE},
    },
}
LOOP_TREE = {
    "name": "loop",
    "start": "pass_on",
    "nodes": {"pass_on": {"type": "transfer", "prompt": "One moment.", "number": LOOP}},
}
LINES: list[dict[str, Any]] = [
    {"number": MENU, "name": "Office", "tree": TREE},
    {"number": BUSY, "name": "Busy at first", "tree": TREE, "outcomes": ["busy", "answer"]},
    {"number": SILENT, "name": "Silent", "tree": TREE, "outcomes": ["no_answer"]},
    {"number": GONE, "name": "Gone", "tree": TREE, "outcomes": ["out_of_service"]},
    {"number": LOOP, "name": "Loop", "tree": LOOP_TREE},
    {"number": ANSWERPHONE, "name": "Answerphone", "mailbox": "night"},
]
MAILBOXES = [{"name": "night", "greeting": "Leave a message.", "is_own": False}]
MENU_PROMPT = TREE["nodes"]["main"]["prompt"]


class OfficePhone:
    """A sandbox, and a client that sends requests to it."""

    def __init__(self, seed: str = "office", **config: Any) -> None:
        settings = VoiceConfig.model_validate({"lines": LINES, "mailboxes": MAILBOXES, **config})
        prepared = PreparedSimulator(SPEC, settings, SPEC.prepare(SPEC.exercise_datasets))
        self.rig = SimulatorRig(SPEC, prepared=prepared, seed=seed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.rig.__exit__(*error)

    @property
    def state(self) -> VoiceState:
        state = self.rig.playground.sandboxes[self.rig.name].state
        assert isinstance(state, VoiceState)
        return state

    @property
    def kinds(self) -> list[str]:
        return [event.kind.removeprefix("voice.") for event in self.rig.playground.log.events]

    def find(self, call: str) -> PhoneCall:
        return self.state.find_call(call)

    def path(self, call: str) -> list[str]:
        return [visited.name for visited in self.find(call).path]

    def events(self, kind: str) -> list[Any]:
        return [event.payload for event in self.rig.playground.log.events if event.kind == f"voice.{kind}"]

    def post(self, path: str, **fields: Any) -> dict[str, Any]:
        headers = {"content-type": "application/json"}
        reply = self.rig.send(Request("POST", path, {}, headers, orjson.dumps(fields)))
        result: dict[str, Any] = orjson.loads(reply.body)
        assert ("error" in result) == (reply.status >= 400)
        return result

    def get(self, path: str, **query: str) -> Any:
        reply = self.rig.send(Request("GET", path, query))
        assert reply.status == 200, reply
        return orjson.loads(reply.body)

    def dial(self, number: str = MENU) -> str:
        id: str = self.post("/calls", to=number)["id"]
        return id

    def reach_menu(self) -> str:
        """Dial, and listen until the menu waits for a choice."""
        call = self.dial()
        assert self.listen(call).endswith(MENU_PROMPT)
        return call

    def act(self, call: str, verb: str, **fields: Any) -> dict[str, Any]:
        return self.post(f"/calls/{call}/{verb}", **fields)

    def refusal(self, call: str, verb: str, **fields: Any) -> str:
        code: str = self.act(call, verb, **fields)["error"]["code"]
        return code

    def hear(self, call: str, seconds: float = 60) -> list[dict[str, Any]]:
        heard: list[dict[str, Any]] = self.act(call, "hear", seconds=seconds)["heard"]
        return heard

    def listen(self, call: str, seconds: float = 60) -> str:
        return " ".join(part["text"] for part in self.hear(call, seconds) if "text" in part)

    def wait(self, seconds: float) -> None:
        self.rig.playground.clock.advance(timedelta(seconds=seconds))
