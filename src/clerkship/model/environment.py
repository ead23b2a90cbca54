"""An environment: simulators, datasets, and the simulated current time."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from clerkship.model.duration import Duration
from clerkship.model.frozen import Frozen
from clerkship.model.monitor_settings import MonitorSettings
from clerkship.model.names import canonical_name

SandboxName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=60)]
RESERVED_NAMES = {
    "clock": "the playground's own clock",
    "control": "the playground's control API",
    "mcp": "the tools of the playground over MCP",
}
"""Path segments that a playground uses itself: no sandbox or domain may have such a name."""
RESERVED_SOURCES = {
    "agent": "the agent's own events",
    "models": "the agent's model calls",
    "run": "the events of the run",
    "scenario": "the events of the scenario",
}
"""Event sources that are not sandboxes or domains: no domain may have such a name."""
MAX_YEAR = 9000
MAX_TICK = timedelta(days=1)
GATE_AXES = ("safety", "privacy")
AXES = ("correctness", "process", "efficiency", "manner", "robustness")
"""Axes that do not gate and that need no declaration."""
"""Axes on which a failed criterion fails the run, unless the author says otherwise."""
_REACTION = re.compile(r"^\s*([a-z][a-z0-9_-]*)\.([a-z0-9_.*]+)\s*->\s*([a-z][a-z0-9_-]*)\s*$")


class ComponentConfig(Frozen):
    """A kind of simulator or domain, with its config and datasets."""

    kind: Annotated[str, AfterValidator(canonical_name), Field(description="kind of simulator or domain")]
    config: Annotated[dict[str, JsonValue], Field(description="config of that kind; see its reference")] = {}
    datasets: Annotated[
        tuple[str, ...] | None, Field(description="datasets of the environment to load; default: all of the right type")
    ] = None


Toolset = Literal["all", "essential"]


class Simulator(ComponentConfig):
    """The definition of one simulated interface."""

    kind: Annotated[str, AfterValidator(canonical_name), Field(description="kind of simulator, such as chat or files")]
    toolset: Annotated[
        Toolset,
        Field(description="operations that models get as tools: `all`, or the `essential` ones of the kind"),
    ] = "all"

    @model_serializer(mode="wrap")
    def _leave_out_default(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the default, so that the hashes of tasks that do not set it stay the same."""
        data: dict[str, Any] = serialize(self)
        return {name: value for name, value in data.items() if (name, value) != ("toolset", "all")}


class SharedDomain(ComponentConfig):
    """The definition of one domain: state that several simulators share and that agents cannot reach directly."""

    kind: Annotated[str, AfterValidator(canonical_name), Field(description="kind of domain")]


def _replace_with_text_schema(schema: dict[str, Any]) -> None:
    schema.clear()
    schema.update({"type": "string", "pattern": _REACTION.pattern, "examples": ["drop.file.written -> archive"]})


class Reaction(Frozen):
    """`drop.file.written -> archive`: events of one sandbox are passed to another, synchronously and in order."""

    model_config = ConfigDict(json_schema_extra=_replace_with_text_schema)
    source: str
    event: str
    target: str

    @model_validator(mode="before")
    @classmethod
    def _parse_arrow(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        match = _REACTION.match(value)
        if match is None:
            raise ValueError("expected `sandbox.event -> sandbox`, such as `drop.file.written -> archive`")
        return dict(zip(("source", "event", "target"), match.groups(), strict=True))

    def matches(self, event: str) -> bool:
        """Return whether it covers an event, given without its simulator's name.

        `file.written` covers that event, `file.*` and `file` cover all events that start with `file.`.
        """
        return fnmatchcase(event, self.event) or event.startswith(f"{self.event}.")

    @model_serializer
    def _serialize(self) -> str:
        return f"{self.source}.{self.event} -> {self.target}"


def _reject_number(value: Any) -> Any:
    """Reject a bare number: pydantic would take it for seconds since 1970."""
    if isinstance(value, int | float):
        raise ValueError(f"expected a time with its zone, such as 2026-03-02T09:00:00-05:00, not {value!r}")
    return value


def _check_year(now: datetime) -> datetime:
    """Reject years close to 9999, the last that `datetime` supports, because simulated time moves on from here."""
    if now.year > MAX_YEAR:
        raise ValueError(f"expected a year up to {MAX_YEAR}, not {now.year}")
    return now


def _check_tick(tick: timedelta) -> timedelta:
    if tick > MAX_TICK:
        raise ValueError("expected at most one day: a tick is the time that one request takes")
    return tick


def utc_offset_minutes(now: datetime) -> int:
    """Return the offset of a time's zone from UTC, in minutes."""
    ahead = now.utcoffset()
    return 0 if ahead is None else int(ahead.total_seconds() // 60)


class Environment(Frozen):
    """The definition that playgrounds are forked from."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: str = ""
    now: Annotated[
        AwareDatetime,
        BeforeValidator(_reject_number),
        AfterValidator(_check_year),
        Field(description="current time in the simulation, with its zone"),
    ] = datetime(2026, 3, 2, 14, tzinfo=UTC)
    time: Annotated[
        Literal["stepped", "paced"],
        Field(description="`stepped`: each request moves the clock by one tick; `paced`: it follows the real clock"),
    ] = "stepped"
    tick: Annotated[
        Duration, AfterValidator(_check_tick), Field(description="how far one request moves a stepped clock")
    ] = timedelta(seconds=1)
    datasets: tuple[str, ...] = ()
    simulators: Annotated[dict[SandboxName, Simulator], Field(description="simulators by the name of the sandbox")] = {}
    domains: Annotated[dict[SandboxName, SharedDomain], Field(description="domains by name")] = {}
    gate_axes: Annotated[
        tuple[str, ...], Field(description="axes whose criteria gate unless they say `gate: false`")
    ] = GATE_AXES
    axes: Annotated[
        tuple[str, ...], Field(description=f"further axes that criteria may have, besides {', '.join(AXES)}")
    ] = ()
    monitors: MonitorSettings = {}
    reactions: Annotated[
        tuple[Reaction, ...],
        Field(
            description="effects across sandboxes: `drop.file.written -> archive`; `drop.file.*` for all such events"
        ),
    ] = ()


CONVERSATION_KIND = "chat"
MESSAGES_KIND = "messages"
VOICE_KIND = "voice"
CONVERSATION_ENVIRONMENT = Environment(
    name="conversation", simulators={CONVERSATION_KIND: Simulator(kind=CONVERSATION_KIND)}
)
"""The environment of tasks whose folder defines none: one chat sandbox."""


class ZonedConfig(Protocol):
    """A config with the zone of a sandbox's times."""

    @property
    def zone(self) -> int | str | None:
        """The UTC offset in minutes, or the name of a zone; None for the offset of the environment."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """Return a copy with some fields changed."""


ZonedConfigT = TypeVar("ZonedConfigT", bound=ZonedConfig)


def apply_environment_zone(config: ZonedConfigT, environment: Environment) -> ZonedConfigT:
    """Return the config with the UTC offset of the environment, unless the config sets a zone."""
    if config.zone is not None:
        return config
    return config.model_copy(update={"zone": utc_offset_minutes(environment.now)})
