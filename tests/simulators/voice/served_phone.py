"""The telephone of a clinic served over HTTP and WebSocket, with the lines of `office_phone`."""

from contextlib import ExitStack
from typing import Any, Literal, Self, cast

from websockets.sync.client import ClientConnection, connect

from clerkship.model.environment import Environment, Simulator
from clerkship.playground.agent_clock import run_paced_clock
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators.voice import SPEC
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.handle import Voice
from clerkship.simulators.voice.state import VoiceState
from tests.simulators.voice.office_phone import LINES, MAILBOXES


class ServedPhone:
    """One playground with one telephone and its HTTP listener."""

    def __init__(self, time: Literal["stepped", "paced"] = "stepped", **config: Any) -> None:
        settings = VoiceConfig.model_validate({"lines": LINES, "mailboxes": MAILBOXES, **config})
        environment = Environment(name="office", simulators={"phone": Simulator(kind="voice")}, time=time)
        self.gateway = Gateway()
        self.listener = open_http(self.gateway)
        prepared = PreparedSimulator(SPEC, settings, SPEC.prepare(()))
        self.playground = Playground(environment, {"phone": prepared}, "office")
        self.phone = cast(Voice, open_sandboxes(self.gateway, self.playground, self.listener.url)["phone"])
        self._resources = ExitStack()

    @property
    def state(self) -> VoiceState:
        state = self.playground.sandboxes["phone"].state
        assert isinstance(state, VoiceState)
        return state

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.phone.token}"}

    def open_socket(self) -> ClientConnection:
        url = f"ws{self.phone.url.removeprefix('http')}/socket"
        client: ClientConnection = self._resources.enter_context(
            connect(url, additional_headers=self.headers, proxy=None)
        )
        return client

    def __enter__(self) -> Self:
        self._resources.enter_context(run_paced_clock(self.playground))
        return self

    def __exit__(self, *error: Any) -> None:
        self._resources.close()
        self.playground.close()
        self.gateway.remove_playground(self.playground)
        self.listener.close()
