"""A drop served over SFTP, in its own playground."""

from pathlib import Path
from typing import Any, Literal

from clerkship.events.event import Payload
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import ConnectionInfo
from clerkship.simulators import files
from clerkship.simulators.files.handle import Files
from clerkship.simulators.files.state import FilesState


class SftpDrop:
    """One playground with one drop. Several may share a gateway and its listeners."""

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
        prepared = PreparedSimulator(files.SPEC, files.SPEC.config(**config), dataset or {})
        self.gateway = gateway
        self.playground = Playground(environment, {"drop": prepared}, seed)
        self.handle = open_sandboxes(gateway, self.playground, lambda: "http://nowhere.invalid", lines).get_as(Files)
        self.connection_info: ConnectionInfo = self.handle.listeners.get("sftp", {})

    @property
    def port(self) -> int:
        return int(self.connection_info["port"])

    @property
    def user(self) -> str:
        return str(self.connection_info["user"])

    @property
    def password(self) -> str:
        return str(self.connection_info["password"])

    @property
    def state(self) -> FilesState:
        state = self.playground.sandboxes["drop"].state
        assert isinstance(state, FilesState)
        return state

    def events(self, kind: str = "files.") -> list[Payload]:
        """Return the payloads of events whose kind starts so, in order."""
        return [event.payload for event in self.playground.log.events if event.kind.startswith(kind)]

    def end(self) -> None:
        """End the run."""
        self.playground.close()
        self.gateway.remove_playground(self.playground)

    def write_keys(self, folder: Path) -> tuple[Path, Path]:
        """Write the private key and the host key to files for OpenSSH."""
        key, known = folder / "id_drop", folder / "known_hosts"
        key.write_text(str(self.connection_info["private_key"]))
        key.chmod(0o600)
        known.write_text(f"{self.connection_info['host_key']}\n")
        return key, known
