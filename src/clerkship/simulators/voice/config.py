"""The configuration of a `voice` simulator."""

from collections.abc import Collection, Iterator
from datetime import timedelta, timezone, tzinfo
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import orjson
from pydantic import BeforeValidator, Field

from clerkship.formats.phone_tree.nodes import ValueName
from clerkship.formats.phone_tree.representative_script import RepresentativeScript
from clerkship.formats.phone_tree.shipped import load_representative
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.kit.zone import ZoneName
from clerkship.model.conversation_key import PhoneNumber
from clerkship.model.duration import Duration
from clerkship.model.frozen import Frozen, Whole
from clerkship.model.located_error import CheckedModel, FoundMistake
from clerkship.model.names import did_you_mean
from clerkship.simulators.voice.records import DialOutcome
from clerkship.simulators.voice.tree_source import (
    MissingDomain,
    TreePlaces,
    find_script_hook_mistakes,
    find_tree_mistakes,
    list_source_values,
)


def _load_named_script(value: Any) -> Any:
    """Return the script that ships with a name; anything else unchanged."""
    return load_representative(value) if isinstance(value, str) else value


class VoiceLine(Frozen):
    """A number that can be called, and what answers there."""

    number: PhoneNumber
    name: Annotated[str, Field(min_length=1, max_length=200)]
    tree: Annotated[
        str | IvrTree | None,
        Field(description="the phone tree: the name of one that ships, or a whole tree, such as `!include tree.yml`"),
    ] = None
    values: Annotated[dict[ValueName, str], Field(description="values of the tree that differ on this line")] = {}
    representatives: Annotated[
        dict[ValueName, Annotated[RepresentativeScript, BeforeValidator(_load_named_script)]],
        Field(description="by the name in transfers: a script, or the name of one that ships"),
    ] = {}
    mailbox: Annotated[str | None, Field(description="mailbox that answers, if there is no tree")] = None
    outcomes: Annotated[
        tuple[DialOutcome, ...],
        Field(min_length=1, max_length=50, description="what each call to it meets, in order; the last one repeats"),
    ] = ("answer",)
    ring: Annotated[Duration, Field(description="how long it rings before it is answered")] = timedelta(seconds=4)


class MailboxConfig(Frozen):
    """A mailbox for voicemail."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=60)]
    number: Annotated[PhoneNumber | None, Field(description="whose unanswered calls it takes")] = None
    access_number: Annotated[
        PhoneNumber | None, Field(description="number that is dialled to listen to it, with the PIN")
    ] = None
    pin: Annotated[str, Field(pattern=r"^\d{4,10}$")] = "2580"
    greeting: str = "You have reached our voicemail. Please leave a message after the tone."
    is_own: Annotated[bool, Field(description="whether the agent can list its messages over HTTP")] = True


EXAMPLE_LINE = VoiceLine.model_validate(orjson.loads(Path(__file__).with_name("example_line.json").read_bytes()))
EXAMPLE_MAILBOXES = (
    MailboxConfig(name="main", number="+15550100100", access_number="+15550100199"),
    MailboxConfig(name="pharmacy", is_own=False),
)


class VoiceConfig(CheckedModel):
    """The configuration: the organization's own numbers, the lines it can call, and its mailboxes."""

    organization: str = "Clinic"
    numbers: Annotated[tuple[PhoneNumber, ...], Field(min_length=1, max_length=20, description="its own numbers")] = (
        "+15550100100",
    )
    lines: Annotated[
        tuple[VoiceLine, ...], Field(max_length=1_000, description="lines that can be called; an example by default")
    ] = (EXAMPLE_LINE,)
    mailboxes: Annotated[tuple[MailboxConfig, ...], Field(max_length=100)] = EXAMPLE_MAILBOXES
    webhook: Annotated[str | None, Field(description="URL of the agent that is called for each incoming call")] = None
    ring_timeout: Annotated[Duration, Field(description="how long an incoming call rings")] = timedelta(seconds=25)
    max_call_length: Annotated[Duration, Field(description="after this a call is dropped")] = timedelta(hours=2)
    max_speech: Annotated[
        Duration, Field(description="how long a phone tree or a representative listens; then it interrupts the agent")
    ] = timedelta(minutes=1)
    max_open_calls: Annotated[Whole, Field(ge=1, le=10_000)] = 2_000
    max_calls: Annotated[Whole, Field(ge=1, le=1_000_000)] = 50_000
    max_text: Annotated[Whole, Field(ge=1, le=100_000, description="characters that are said at once")] = 5_000

    zone: Annotated[
        Annotated[Whole, Field(ge=-720, le=840)] | ZoneName | None,
        Field(
            description="zone of opening hours: its name, such as America/New_York, or its UTC offset in minutes; "
            "by default the offset of the environment's now",
        ),
    ] = None

    @property
    def local_zone(self) -> tzinfo:
        """The zone of opening hours."""
        return ZoneInfo(self.zone) if isinstance(self.zone, str) else timezone(timedelta(minutes=self.zone or 0))

    def find_mistakes(self, domains: Collection[str]) -> Iterator[FoundMistake]:
        """Return the mistakes in phone trees and scripts that depend on hooks, mailboxes and domains."""
        mailboxes = [mailbox.name for mailbox in self.mailboxes]
        missing_domains: set[str] = set()
        for number, line in enumerate(self.lines):
            for mistake in _find_line_mistakes(line, mailboxes, domains):
                if mistake.hint not in missing_domains:
                    yield mistake._replace(path=("lines", number, *mistake.path))
                if isinstance(mistake, MissingDomain):
                    missing_domains.add(mistake.hint)


def _find_line_mistakes(
    line: VoiceLine, mailboxes: Collection[str], domains: Collection[str]
) -> Iterator[FoundMistake]:
    if line.mailbox is not None and line.mailbox not in mailboxes:
        yield FoundMistake(("mailbox",), f"unknown mailbox `{line.mailbox}`", did_you_mean(line.mailbox, mailboxes))
    values = set(line.values)
    if line.tree is not None:
        places = TreePlaces(line.values, mailboxes, line.representatives)
        for mistake in find_tree_mistakes(line.tree, places, domains):
            yield mistake._replace(path=("tree", *mistake.path))
        values.update(list_source_values(line.tree))
    for name, script in line.representatives.items():
        for mistake in find_script_hook_mistakes(script, values, domains):
            yield mistake._replace(path=("representatives", name, *mistake.path))
        yield from _find_transfer_mistakes(line, name, script)


def _find_transfer_mistakes(line: VoiceLine, name: str, script: RepresentativeScript) -> Iterator[FoundMistake]:
    """Return the transfers to representatives that the line does not have."""
    for number, answer in enumerate(script.answers):
        if answer.transfers_to is not None and answer.transfers_to not in line.representatives:
            path = ("representatives", name, "answers", number, "transfers_to")
            hint = did_you_mean(answer.transfers_to, line.representatives)
            yield FoundMistake(path, f"the line has no representative `{answer.transfers_to}`", hint)
