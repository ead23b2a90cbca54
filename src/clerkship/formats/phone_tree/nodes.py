"""The format of the nodes of a phone tree: prompts, menus, data entry, opening hours, queues and transfers."""

import re
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from clerkship.model.closed import NameOf
from clerkship.model.duration import Duration
from clerkship.model.frozen import Flag, Frozen, Whole

MAILBOX = NameOf("mailbox")
REPRESENTATIVE = NameOf("representative")
NodeName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
ValueName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
Key = Annotated[str, Field(pattern=r"^[0-9*#]$", description="a key of the telephone")]
Prompt = Annotated[
    str,
    Field(max_length=5_000, description="what is said; `{name}` is a value, `{name|digits}` reads it digit by digit"),
]
EntryFormat = Literal["digits", "letters_and_digits", "date", "money"]
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)
_LOCAL_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:00)?", re.ASCII)


def _check_local_time(value: Any) -> Any:
    """Raise ValueError for a time with a zone, and for a number, which would be read as seconds."""
    if isinstance(value, time) or (isinstance(value, str) and _LOCAL_TIME.fullmatch(value)):
        return value
    raise ValueError(f"expected a local time such as 08:00 or 17:30, not {str(value)[:40]!r}")


LocalTime = Annotated[time, BeforeValidator(_check_local_time)]
DEFAULT_TIMEOUT = timedelta(seconds=6)
DEFAULT_ATTEMPTS = 3


class SpokenNode(Frozen):
    """What nodes with a prompt have in common."""

    prompt: Prompt
    interruptible: Annotated[Flag, Field(description="whether digits or speech stop the prompt")] = True


class InputNode(SpokenNode):
    """What nodes that wait for the caller have in common."""

    timeout: Annotated[Duration, Field(description="how long the line waits for the caller after the prompt")] = (
        DEFAULT_TIMEOUT
    )
    max_attempts: Annotated[
        Whole, Field(ge=1, le=10, description="after so many missing or wrong entries the call goes to `failed`")
    ] = DEFAULT_ATTEMPTS
    failed: Annotated[NodeName | None, Field(description="where it goes then; by default the line hangs up")] = None
    no_input: Annotated[Prompt, Field(description="what is said before the prompt is repeated")] = (
        "I'm sorry, I didn't hear anything."
    )
    no_match: Annotated[Prompt, Field(description="what is said before the prompt is repeated")] = (
        "I'm sorry, I didn't understand that."
    )
    repeat_key: Annotated[Key | None, Field(description="the key that repeats the prompt")] = "*"


class SayNode(SpokenNode):
    """Says something and goes on."""

    type: Literal["say"]
    next: NodeName


class Choice(Frozen):
    """One choice of a menu: a key, and phrases that mean the same."""

    key: Key | None = None
    speech: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=200)], ...],
        Field(max_length=50, description="phrases that choose it; other words around them are allowed"),
    ] = ()
    next: NodeName


class MenuNode(InputNode):
    """Offers choices by key or speech."""

    type: Literal["menu"]
    choices: Annotated[tuple[Choice, ...], Field(min_length=1, max_length=40)]


class CollectNode(InputNode):
    """Asks for a number, a code or a date, by key or speech, and stores it as a value."""

    type: Literal["collect"]
    variable: ValueName
    format: EntryFormat = "digits"
    min_length: Annotated[Whole, Field(ge=1, le=60)] = 1
    max_length: Annotated[Whole, Field(ge=1, le=60)] = 30
    end_key: Annotated[Key | None, Field(description="the key that ends the entry")] = "#"
    confirm: Annotated[Flag, Field(description="whether the line reads the entry back: press 1 if it is right")] = False
    confirmation: Annotated[
        Prompt | None,
        Field(description="how it reads the entry back: a sentence with `{entry}`"),
    ] = None
    next: NodeName


class HookNode(Frozen):
    """Looks something up or changes something, and goes on by the outcome."""

    type: Literal["hook"]
    hook: Annotated[str, Field(description="what is done, such as `payer.find_member`; see the simulator's reference")]
    arguments: Annotated[
        dict[ValueName, str], Field(description="inputs of the hook; `{name}` is a value. Default: values of that name")
    ] = {}
    prompt: Annotated[Prompt, Field(description="what is said meanwhile")] = ""
    outcomes: Annotated[dict[ValueName, NodeName], Field(min_length=1, description="outcome -> next node")]
    max_visits: Annotated[Whole | None, Field(ge=1, le=20, description="how often a call may come here")] = None
    exhausted: Annotated[NodeName | None, Field(description="where it goes after that; needed with `max_visits`")] = (
        None
    )


class BranchNode(Frozen):
    """Goes on by a value."""

    type: Literal["branch"]
    variable: ValueName
    cases: Annotated[dict[str, NodeName], Field(min_length=1)]
    otherwise: NodeName


class OpeningHours(Frozen):
    """Opening hours of some weekdays, in the zone of the environment."""

    days: Annotated[tuple[Weekday, ...], Field(min_length=1)]
    opens: LocalTime
    closes: Annotated[LocalTime, Field(description="from then on it is closed; 00:00 is the midnight after it opens")]

    @property
    def closes_at_midnight(self) -> bool:
        """Whether an office is open until the end of the day."""
        return self.closes == time.min


class HoursNode(Frozen):
    """Goes on by whether the office is open."""

    type: Literal["hours"]
    hours: Annotated[tuple[OpeningHours, ...], Field(max_length=20)]
    holidays: tuple[date, ...] = ()
    opened: NodeName
    closed: NodeName

    def is_open(self, now: datetime) -> bool:
        """Return whether the office is open at a local time. At the minute it closes, it is closed."""
        if now.date() in self.holidays:
            return False
        weekday, at = WEEKDAYS[now.weekday()], now.time()
        return any(
            weekday in hours.days and hours.opens <= at and (at < hours.closes or hours.closes_at_midnight)
            for hours in self.hours
        )


class QueueNode(Frozen):
    """Puts the caller on hold until a representative is free."""

    type: Literal["queue"]
    wait: Annotated[Duration, Field(description="how long the caller waits")]
    wait_up_to: Annotated[
        Duration | None, Field(description="if given, the wait is drawn by the seed between `wait` and this")
    ] = None
    position: Annotated[Whole, Field(ge=1, le=500, description="the caller's first position in the queue")] = 1
    announce_every: Annotated[Duration, Field(description="how often the position is said")] = timedelta(minutes=2)
    announcement: Prompt = "You are number {position} in line. Please stay on the line."
    music: Annotated[str, Field(max_length=200, description="what is heard between announcements")] = "hold music"
    choices: Annotated[tuple[Choice, ...], Field(max_length=10, description="how to leave the queue")] = ()
    next: NodeName


class TransferNode(Frozen):
    """Connects the caller to a representative, to a simulated person, or to another number."""

    type: Literal["transfer"]
    prompt: Prompt = "Please hold while I transfer your call."
    representative: Annotated[
        str | None, REPRESENTATIVE, Field(description="name of a scripted representative of the line")
    ] = None
    number: Annotated[str | None, Field(description="phone number of another line, or of a person of the scenario")] = (
        None
    )


class VoicemailNode(Frozen):
    """Takes a message after a greeting and a beep."""

    type: Literal["voicemail"]
    prompt: Annotated[Prompt, Field(description="the greeting, before the beep")]
    mailbox: Annotated[str, MAILBOX, Field(description="name of the mailbox that gets the message")]
    max_length: Annotated[Duration, Field(description="after this the line hangs up")] = timedelta(minutes=3)


class EndNode(Frozen):
    """Says something and hangs up."""

    type: Literal["end"]
    prompt: Prompt = "Goodbye."


IvrNode = Annotated[
    SayNode
    | MenuNode
    | CollectNode
    | HookNode
    | BranchNode
    | HoursNode
    | QueueNode
    | TransferNode
    | VoicemailNode
    | EndNode,
    Field(discriminator="type"),
]


class UncheckedTree(Frozen):
    """The fields of a phone tree, which may have mistakes; `IvrTree` has none."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    version: Annotated[str, Field(max_length=40, description="which version of the menus it is")] = "1"
    start: NodeName
    values: Annotated[dict[ValueName, str], Field(description="values that prompts and hooks may use")] = {}
    operator: Annotated[
        NodeName | None,
        Field(description="where a caller goes who says `operator` or `representative` at any menu or data entry"),
    ] = None
    nodes: Annotated[dict[NodeName, IvrNode], Field(min_length=1, max_length=500)]
