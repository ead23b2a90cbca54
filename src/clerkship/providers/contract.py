"""The API of a provider: its requests, built and read, and its responses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import orjson

ProviderName = Literal["openai", "anthropic", "gemini"]


class ModelOperation(NamedTuple):
    """An operation of a provider's API."""

    name: str
    """`chat`, `responses`, `messages`, `generate`, `embeddings`, `count_tokens` or `models`."""
    path: str
    """The path at the provider, below the address in the settings."""
    model: str = ""
    """The model, if the path names it."""
    is_stream: bool = False
    """Whether the path asks for a stream."""


class ModelToolCall(NamedTuple):
    """A tool call that a model proposed."""

    id: str
    name: str
    arguments: Any
    """An object; or text, if the model wrote something else."""


class ModelToolResult(NamedTuple):
    """The result of a tool call, which the agent sends with its next request."""

    id: str
    """Empty if the API has no ids; then results are in the order of the calls of their name."""
    name: str
    content: Any
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """What the log says of a request."""

    model: str
    parameters: Mapping[str, Any]
    tools: tuple[str, ...]
    results: tuple[ModelToolResult, ...] = ()
    is_stream: bool = False


class TokenCounts(NamedTuple):
    """Tokens of one call. Cached tokens are a part of the prompt."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0


@dataclass(slots=True)
class AnswerSummary:
    """What the log says of a response."""

    id: str = ""
    model: str = ""
    """The model that answered, which may be a dated version of the requested one."""
    tool_calls: list[ModelToolCall] = field(default_factory=list)
    finish_reason: str = ""
    tokens: TokenCounts | None = None
    """None if the response does not say."""


class AnswerReader(Protocol):
    """Reads a response: a whole body, or the events of a stream in order."""

    is_complete: bool
    """Whether a client may act on what it has received: the last event of a stream has been read."""

    def read(self, data: Mapping[str, Any]) -> None:
        """Read the body, or the next event."""

    def build_summary(self) -> AnswerSummary:
        """Return what was read so far."""


AnswerForm = Literal["schema", "tool", "object", "words"]
"""How the shape of an answer is requested, in addition to the prompt: by a JSON schema, as a tool's arguments, as any
JSON object, or not at all."""
StopReason = Literal["", "refused", "cut off", "filtered", "malformed call"]
ANSWER_TOOL = "answer"
"""The tool whose arguments are the answer, in the form `tool`."""
BEGINNING = "(it begins)"
"""What the user says first in a conversation that the model starts, for providers that expect this."""
NO_TEXT = "(nothing)"
"""Stands for an empty message, which some providers decline."""


class ModelMessage(NamedTuple):
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant", "tools"]
    text: str = ""
    results: tuple[ModelToolResult, ...] = ()
    """The results of the tools that the model called."""
    original: Any = None
    """A message of the model in the provider's form, to be sent back with what only the provider understands."""


class ModelTool(NamedTuple):
    """A tool that a model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON Schema."""


class ChatRequest(NamedTuple):
    """A request for the next message of a model."""

    model: str
    messages: Sequence[ModelMessage]
    tools: Sequence[ModelTool] = ()
    form: AnswerForm = "words"
    schema: Mapping[str, Any] = {}
    """The JSON Schema of the answer."""
    schema_name: str = ""
    parameters: Mapping[str, Any] = {}
    """The parameters of the model, by their names in the API."""


class ChatReply(NamedTuple):
    """The next message of a model."""

    message: ModelMessage
    calls: tuple[ModelToolCall, ...] = ()
    """Without a name if the model wrote something else than a call."""
    stop: StopReason = ""
    tokens: TokenCounts | None = None
    cost: float | None = None
    """Dollars, if the provider says so."""


class ProviderApi(Protocol):
    """The API of a provider."""

    @property
    def name(self) -> ProviderName:
        """The name of the provider in addresses and settings."""

    @property
    def forms(self) -> tuple[AnswerForm, ...]:
        """The forms in which it takes the shape of an answer, the best first; the last is `words`."""

    @property
    def limits(self) -> tuple[str, ...]:
        """The names of the parameter that limits the tokens of an answer."""

    @property
    def requires_limit(self) -> bool:
        """Whether it declines a request without this parameter."""

    @property
    def address_hint(self) -> str:
        """How its addresses end, for error messages."""

    def build_chat(self, request: ChatRequest) -> tuple[str, dict[str, Any]]:
        """Return the path and the body of a request for the next message."""

    def parse_chat(self, data: Any) -> ChatReply | None:
        """Return the message in the body of a response; None if there is none."""

    def find_operation(self, method: str, path: str) -> ModelOperation | None:
        """Return the operation of a request; None if it is not one that is read here."""

    def parse_request(self, operation: ModelOperation, body: Mapping[str, Any]) -> RequestSummary:
        """Summarize a request."""

    def open_reader(self, operation: ModelOperation, *, is_stream: bool) -> AnswerReader:
        """Return a reader for the response."""

    def render_error(self, status: int, code: str, message: str) -> bytes:
        """Return an error in the form of the API."""


def object_of(value: Any) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for any other value, because providers and agents may send anything."""
    return value if isinstance(value, Mapping) else {}


def list_of(value: Any) -> Sequence[Any]:
    """Return a JSON array; an empty one for any other value."""
    return value if isinstance(value, list) else ()


def text_of(value: Any) -> str:
    """Return a text; an empty one for any other value."""
    return value if isinstance(value, str) else ""


def count_of(value: Any) -> int:
    """Return a count; 0 for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def parse_arguments(text: Any) -> Any:
    """Return the arguments of a tool call, which most APIs send as JSON in a text."""
    if not isinstance(text, str):
        return text
    try:
        return orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        return text


def join_text(content: Any) -> Any:
    """Return the content of a tool result: one text if it consists of texts, else unchanged."""
    parts = list_of(content)
    texts = [text_of(part) or text_of(object_of(part).get("text")) for part in parts]
    return "".join(texts) if parts and all(texts) else content
