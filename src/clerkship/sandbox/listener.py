"""Listeners of protocols other than HTTP. One listener serves every playground.

What arrives becomes calls of operations, which go through the same ordered list of handlers as requests over HTTP: the
log, the faults and the limits are the same in every protocol.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Protocol, TypeVar

from clerkship.kit.tls import TlsFiles
from clerkship.model.frozen import Frozen
from clerkship.sandbox.operation import ProtocolCall
from clerkship.sandbox.request import ConnectionInfo, Reply

T = TypeVar("T")


class SandboxClient(Protocol):
    """One sandbox, as a listener calls it."""

    @property
    def address(self) -> str:
        """Its secret address in every protocol but HTTP: twenty letters and digits. Never logged."""

    @property
    def token(self) -> str:
        """Its credential, the same as over HTTP. Never logged."""

    @property
    def config(self) -> Frozen:
        """The configuration of its simulator."""

    @property
    def callbacks(self) -> Mapping[str, str]:
        """Addresses that the agent registered to be called at, by name. Never logged."""

    @property
    def open(self) -> bool:
        """Whether its run has not ended."""

    def call_now(self, call: ProtocolCall) -> Reply | Awaitable[Reply]:
        """Call an operation as the agent; return the reply itself if it is available at once. See `call`."""

    async def call(self, call: ProtocolCall) -> Reply:
        """Call an operation as the agent, and wait for delays that faults add.

        A reply that is `lost` never arrives. One whose `delivery.promised` is a number is cut short: the listener sends
        its body and breaks the connection there.
        """

    async def read_state(self, read: Callable[[Any], T]) -> T:
        """Read the state with the playground locked. Nothing is logged and no fault applies."""

    def subscribe(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call callback with the kind of each event, in the thread that emits it; it must return at once.

        To unsubscribe, call the returned function with the playground locked.
        """

    async def fail(self, error: Exception) -> None:
        """Record a bug of the simulator outside of a request: the trial is errored."""


class SandboxDirectory(Protocol):
    """The running sandboxes of the listener's kind, and how clients reach the listener."""

    @property
    def client_host(self) -> str:
        """The host that clients connect to: a name or an IP address."""

    @property
    def tls(self) -> TlsFiles | None:
        """The user's certificate for this listener, if there is one."""

    def find(self, address: str) -> SandboxClient | None:
        """Return the sandbox with this address, upper or lower case; None if there is none, or its run has ended."""

    def list_refused(self, address: str, operation: str, reason: str) -> None:
        """Record a request without a valid credential, outside the log.

        It is listed with the trial whose sandbox has this address, or with the run if there is none.
        """


class ProtocolListener(ABC):
    """A listener. connection_info, example and ports may be called from any thread; the rest runs in its event loop."""

    name: ClassVar[str]
    """Its name for agents, such as `sftp`."""
    package: ClassVar[str] = ""
    """A required package that the core does not install; without it the listener is not available."""
    extra: ClassVar[str] = ""
    """The extra that installs the package: `pip install clerkship[extra]`."""
    has_password: ClassVar[bool] = True
    """Whether it asks for a password or a key. One that does not is opened to other machines only if the user says so,
    or if clients need a certificate.
    """

    @classmethod
    def is_available(cls) -> bool:
        """Return whether the required package is installed. Nothing is imported."""
        return not cls.package or find_spec(cls.package) is not None

    def __init__(self, directory: SandboxDirectory) -> None:
        self.directory = directory

    @abstractmethod
    async def open(self, host: str, port: int) -> None:
        """Listen; on any free port if port is 0."""

    @abstractmethod
    async def close(self) -> None:
        """Stop accepting connections and close the open ones."""

    @abstractmethod
    def connection_info(self, client: SandboxClient) -> ConnectionInfo:
        """Return what an agent needs to connect."""

    @abstractmethod
    def example(self, info: ConnectionInfo) -> str:
        """Return a shell command that connects."""

    def ports(self) -> Sequence[int]:
        """Return the ports in use. From any thread."""
        return ()

    async def run_ended(self, address: str) -> None:  # noqa: B027  (most listeners hold nothing for a sandbox)
        """Release what is held for a sandbox whose run has ended."""
