"""Operations: what a simulator can do, independent of the protocol of the request.

A simulator declares each operation once, with a typed input and a typed result. HTTP routes, MLLP frames and SFTP
packets are encodings of it: they convert bytes to the input, and the result to bytes.
"""

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar, get_origin

from pydantic import BaseModel

from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scope import AccessGrant
from clerkship.sandbox.json_schema import InvalidSchema, check_schema
from clerkship.sandbox.request import Refusal, Reply
from clerkship.sandbox.state import ActionContext

StateT = TypeVar("StateT")
InputT = TypeVar("InputT")
ResultT = TypeVar("ResultT")
OperationAccess = Literal["agent", "open", "login"]
"""Who may call an operation: a client with a credential of the sandbox; any client; or a client whose user and password
are in the input, a `LoginInput`. What an `open` operation emits for a client without a credential is discarded."""


class NoInput(Frozen):
    """The input of an operation without parameters."""


NO_INPUT = NoInput()
OK = 200


def ignore_callback(name: str, address: str) -> None:
    """Ignore a callback address: the default where nothing sends messages to the agent."""


def pass_no_time(limit: timedelta, is_done: Callable[[], bool]) -> datetime | None:
    """Let no time pass and return None: the default where there is no clock."""
    return None


def list_no_keys() -> dict[str, Any]:
    """Return an empty JWK Set: the default where nothing signs tokens."""
    return {"keys": []}


class OperationContext(NamedTuple, Generic[StateT]):
    """The state of a sandbox and the means to change it, passed to each operation."""

    state: StateT
    action: ActionContext
    base_url: str = ""
    """The URL of the sandbox as the client uses it, without a trailing slash; empty if the protocol has none."""
    secret_address: str = ""
    """Its address in protocols other than HTTP. It is secret: an operation must not log it."""
    register_callback: Callable[[str, str], None] = ignore_callback
    """Register where the agent can be called (a name, and `host:port`, a URL or nothing), outside the log.

    A name may have a second part, as in `status/SM1`: an address for some messages only.
    """
    events_left: int = sys.maxsize
    """The number of events that still fit in the log; one request may emit many."""
    transport: str = ""
    """The protocol of the request, such as `mllp`; empty for HTTP and for calls in process."""
    credentials: SandboxCredentials | None = None
    """The credentials of the sandbox, to issue and withdraw sessions and tokens; None for a client without any."""
    callbacks: Mapping[str, str] = MappingProxyType({})
    """The addresses that the agent registered, by name. An operation must not log them."""
    access: AccessGrant | None = None
    """What the access token of the request is limited to; None if it is not limited. Only operations with `scoped=True`
    get such requests, and they must check it."""
    public_keys: Callable[[], dict[str, Any]] = list_no_keys
    """Returns the public keys of the sandbox as a JWK Set."""
    pass_time: Callable[[timedelta, Callable[[], bool]], datetime | None] = pass_no_time
    """Lets simulated time pass until a condition is true, at most for a duration; returns the time then. Only
    operations with `waits=True` use it, and before they emit an event: work that falls due meanwhile emits its own."""


OperationFunction = Callable[[OperationContext[Any], InputT], ResultT]


class Operation(Generic[InputT, ResultT]):
    """One operation of a simulator. Its docstring is the description that models get."""

    def __init__(  # noqa: PLR0913  (all but the function are named options)
        self,
        run: OperationFunction[InputT, ResultT],
        *,
        name: str = "",
        access: OperationAccess = "agent",
        tool: bool = True,
        essential: bool = False,
        logs_body: bool = True,
        scoped: bool = False,
        waits: bool = False,
        shorter_hint: str = "",
        schema: Mapping[str, Any] | None = None,
    ) -> None:
        self.run = run
        self.name: str = name or run.__name__
        self.input: type[Any] = get_input_type(run)
        self.access: OperationAccess = access
        self.tool = tool
        """Whether models get it as a tool; set it to False if another operation does the same."""
        self.essential = essential
        """Whether models get it as a tool also with `toolset: essential`: most work with its kind needs it."""
        self.logs_body = logs_body
        """Whether the log may contain the body of a request; False if it differs between machines, as a port does."""
        self.scoped = scoped
        """Whether it checks `OperationContext.access`; if not, access tokens with scopes are refused."""
        self.waits = waits
        """Whether it lets simulated time pass, which takes wall time if the clock is paced."""
        self.shorter_hint = shorter_hint
        """How to get a shorter result, for a model whose tool result was cut."""
        self._schema = schema
        if self.input is dict:
            _check_declared_schema(self.name, schema)

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of its input, an object. An agent cannot set fields that are not in it."""
        if self._schema is not None:
            return self._schema
        model: type[BaseModel] = self.input
        return model.model_json_schema(by_alias=True)

    @cached_property
    def fields(self) -> frozenset[str]:
        """The names of the fields that an agent may set."""
        if self._schema is not None or self.input.model_config.get("alias_generator"):
            return frozenset(self.schema.get("properties", ()))
        # Not from the schema, which is needed only for tools and takes long to build.
        return frozenset(info.alias or name for name, info in self.input.model_fields.items())

    @cached_property
    def description(self) -> str:
        """What it does, for models and documentation."""
        return inspect.getdoc(self.run) or ""

    def __repr__(self) -> str:
        return f"Operation({self.name!r}, input={self.input.__name__})"


def get_input_type(run: OperationFunction[Any, Any]) -> type[Any]:
    """Return the type of an operation's second parameter: a model, or `dict` where it has a JSON Schema."""
    annotations = [parameter.annotation for parameter in inspect.signature(run).parameters.values()]
    input_type = get_origin(annotations[-1]) or annotations[-1]
    if len(annotations) != 2 or not isinstance(input_type, type) or not issubclass(input_type, BaseModel | dict):
        raise TypeError(f"{run}: an operation takes (context, input), where input is a pydantic model or a dict")
    return input_type


def _check_declared_schema(name: str, schema: Mapping[str, Any] | None) -> None:
    """Check the schema of an operation whose input is a dict; raises TypeError or InvalidSchema."""
    if schema is None:
        raise TypeError(f"{name}: an operation whose input is a dict needs a `schema`")
    try:
        check_schema(schema)
    except InvalidSchema as error:
        raise InvalidSchema(f"operation `{name}`: {error}") from None
    unknown = sorted(set(schema.get("required", ())) - schema.get("properties", {}).keys())
    if unknown:
        raise InvalidSchema(f"operation `{name}`: `{unknown[0]}` is required, and not in its properties")


def operation(**options: Any) -> Callable[[OperationFunction[InputT, ResultT]], Operation[InputT, ResultT]]:
    """Declare a function `(context, input) -> result` as an operation; the options are those of `Operation`."""
    return partial(Operation, **options)


class SimulatorInterface(Protocol):
    """The parts of a simulator's spec that a call needs."""

    @property
    def routes(self) -> Sequence[Any]:
        """Its HTTP routes."""

    @property
    def refuse(self) -> Callable[[Refusal], Reply]:
        """Renders a refusal over HTTP."""


class ProtocolCall(ABC):
    """One request in the form of its protocol: its operation, its input, and how the reply is written."""

    transport: ClassVar[str] = ""
    """The name of the protocol, such as `mllp`; empty for HTTP and for calls in process."""
    base: str = ""
    """The URL of the sandbox as the client uses it; empty if the protocol has none."""
    body: bytes
    """The content of the request; logged unless an event contains it."""
    operation: Operation[Any, Any] | None
    """The operation, once it is known."""
    wants_body: bool = True
    """Whether the client reads the body of the reply."""

    @property
    @abstractmethod
    def title(self) -> tuple[str, str]:
        """The request as the log names it: a method and a path, or an operation and its target."""

    def locate(self, interface: SimulatorInterface) -> None:  # noqa: B027  (most protocols know the operation)
        """Find the operation; raises Refusal."""

    def check_size(self) -> None:  # noqa: B027  (most listeners limit what they read)
        """Raise Refusal if the content is too large."""

    @abstractmethod
    def parse(self, context: OperationContext[Any]) -> Any:
        """Return the input of the operation; raises Refusal."""

    @abstractmethod
    def render(self, context: OperationContext[Any], result: Any) -> Reply:
        """Write the result of the operation as a reply."""

    @abstractmethod
    def refuse(self, refusal: Refusal, interface: SimulatorInterface | None) -> Reply:
        """Write a refusal as the protocol does, and as the simulator does if it is known."""

    def cost_key(self) -> tuple[str, ...] | None:
        """Return a key shared by requests that cost about the same; None for a request that may take long."""
        return ()


class OperationCall(ProtocolCall, Generic[InputT, ResultT]):
    """A call of an operation in a protocol other than HTTP. A protocol overrides how replies are written.

    The reply has the typed result; its body is what the protocol sends, for faults that cut or delay it.
    """

    operation: Operation[Any, Any]

    def __init__(
        self, operation: Operation[InputT, ResultT], input: InputT, target: str = "", body: bytes = b""
    ) -> None:
        self.operation = operation
        self.input = input
        self._target = target
        self.body = body

    @property
    def target(self) -> str:
        """What the request is about, for the log: a path, or the type of a message."""
        return self._target

    @property
    def title(self) -> tuple[str, str]:
        """The name of the operation, and the target of the call."""
        return self.operation.name, self.target

    def parse(self, context: OperationContext[Any]) -> InputT:
        return self.input

    def render(self, context: OperationContext[Any], result: ResultT) -> Reply:
        """Return a reply with the result; a result of bytes is also its body."""
        return Reply(OK, result if isinstance(result, bytes) else b"", result=result)

    def refuse(self, refusal: Refusal, interface: SimulatorInterface | None) -> Reply:
        return Reply(refusal.status, refusal.reason.encode(), refusal=refusal)
