"""Listeners of protocols other than HTTP. One listener serves every playground.

What arrives becomes calls of operations, which go through the same ordered list of handlers as requests over HTTP: the
log, the faults and the limits are the same in every protocol.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from clerkship.model.frozen import Frozen
from clerkship.sandbox.exchange import Reply
from clerkship.sandbox.operation import ProtocolCall

ConnectionInfo = Mapping[str, str | int]
"""What an agent is told to come in by a line, such as host, port and user. In no log: it differs between machines."""
T = TypeVar("T")


class SandboxClient(Protocol):
    """One sandbox as a line reaches it."""

    @property
    def address(self) -> str:
        """Its unguessable name on every line: twenty letters and digits. Never in a log."""
        ...

    @property
    def token(self) -> str:
        """Its credential, the same as over HTTP. Never in a log."""
        ...

    @property
    def config(self) -> Frozen:
        """How its simulator is configured."""
        ...

    @property
    def links(self) -> Mapping[str, str]:
        """What the agent has said through its routes of where it is itself; in no log."""
        ...

    @property
    def open(self) -> bool:
        """Whether its run goes on."""
        ...

    def ask(self, call: ProtocolCall) -> Reply | Awaitable[Reply]:
        """Call an operation as the agent; return the reply itself where it is there at once. See `send`."""
        ...

    async def send(self, call: ProtocolCall) -> Reply:
        """Call an operation as the agent, and wait out a delay on the way.

        A reply that is `lost` never arrives. One whose `delivery.promised` is a number is cut short: the listener sends
        its body and breaks the connection there.
        """
        ...

    async def look(self, read: Callable[[Any], T]) -> T:
        """Read its state while nobody changes it. No touch of anybody's: nothing is taken down, no fault strikes."""
        ...

    def watch(self, tell: Callable[[str], None]) -> Callable[[], None]:
        """Be told the kind of each event of this sandbox from here on, in the thread where it happens: do not work
        there, and do not ask anything. Call what is returned, with the state locked, to be told no more."""
        ...


class SandboxDirectory(Protocol):
    """The sandboxes of the line's kind that are up."""

    def find(self, address: str) -> SandboxClient | None:
        """The one of this address, upper or lower case; None if there is none, or its run is over."""
        ...

    def list_refused(self, address: str, operation: str, reason: str) -> None:
        """List a request without a valid credential: beside the log of the trial that has this address, else of the
        run."""
        ...


class ProtocolListener(ABC):
    """One listener. All but `told` and `example` is called in the line's own event loop."""

    name: ClassVar[str]
    """What agents know it by, such as `sftp`."""
    package: ClassVar[str] = ""
    """A package it cannot do without, where the core does not bring it; without it there is no such line."""
    extra: ClassVar[str] = ""
    """What brings that package: `pip install clerkship[extra]`."""

    def __init__(self, board: SandboxDirectory) -> None:
        self.board = board

    @abstractmethod
    async def open(self, host: str, port: int) -> None:
        """Listen; at port 0, on any."""

    @abstractmethod
    async def close(self) -> None:
        """Let nobody in any more, and let go of those who are."""

    @abstractmethod
    def told(self, post: SandboxClient) -> ConnectionInfo:
        """What its agent needs to come in. Called from any thread once the line is open."""

    @abstractmethod
    def example(self, told: ConnectionInfo) -> str:
        """A command to try it with."""

    def ports(self) -> Sequence[int]:
        """Where it listens, told or not; from any thread."""
        return ()

    async def gone(self, address: str) -> None:  # noqa: B027  (most lines keep nothing of anybody)
        """The run of the sandbox of this address is over: let go of what was kept for it."""
