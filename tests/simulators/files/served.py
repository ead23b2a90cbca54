"""A drop that is up over SFTP, in a playground of its own."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from clerkship.events.event import Payload
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.listener import ConnectionInfo
from clerkship.simulators import files
from clerkship.simulators.files.handle import Files
from clerkship.simulators.files.state import FilesState


class Served:
    """One playground with one drop. Several may share a gateway and its lines."""

    def __init__(
        self,
        gateway: Gateway,
        lines: ListenerPool | None,
        dataset: dict[str, bytes] | None = None,
        seed: str = "sftp",
        time: Literal["stepped", "paced"] = "stepped",
        **config: Any,
    ) -> None:
        environment = Environment(name="desk", simulators={"drop": Simulator(kind="files")}, time=time)
        room = PreparedSimulator(files.SPEC, files.SPEC.config(**config), dataset or {})
        self.gateway = gateway
        self.playground = Playground(environment, {"drop": room}, seed)
        self.handle = open_sandboxes(gateway, self.playground, lambda: "http://nowhere.invalid", lines).get_as(Files)
        self.told: ConnectionInfo = self.handle.listeners.get("sftp", {})

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.told["port"])

    @property
    def user(self) -> str:
        """Who comes in."""
        return str(self.told["user"])

    @property
    def password(self) -> str:
        """With what."""
        return str(self.told["password"])

    @property
    def state(self) -> FilesState:
        """What the drop holds."""
        state = self.playground.sandboxes["drop"].state
        assert isinstance(state, FilesState)
        return state

    def events(self, kind: str = "files.") -> list[Payload]:
        """What has happened to its files, in order."""
        return [event.payload for event in self.playground.log.events if event.kind.startswith(kind)]

    def end(self) -> None:
        """The run is over."""
        self.playground.close()
        self.gateway.remove_playground(self.playground)

    def write_keys(self, folder: Path) -> tuple[Path, Path]:
        """Its private key and its host's, as OpenSSH wants them in files."""
        key, known = folder / "id_drop", folder / "known_hosts"
        key.write_text(str(self.told["private_key"]))
        key.chmod(0o600)
        known.write_text(f"{self.told['host_key']}\n")
        return key, known


def wait_until(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
