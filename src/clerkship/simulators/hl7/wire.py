"""Messages, inboxes and listeners as they go over HTTP."""

import ipaddress
import re
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import orjson
from pydantic import Field, ValidationError

from clerkship.hl7.message import MEDIA, BadMessage, Message, encode, parse, read_segment
from clerkship.hl7.stream import Batch, split
from clerkship.model.frozen import Frozen, Whole
from clerkship.sandbox.exchange import Refusal, Reply, Request
from clerkship.simulators.hl7.state import Incoming, Outgoing

ER7 = f"{MEDIA}; charset=utf-8"
"""Text as HTTP brings it: what is said here goes before MSH-18 (HL7 over HTTP)."""
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:-]{1,40})", re.IGNORECASE)
_TEXT = re.compile(
    r"utf-?8|utf-?16(-?[lb]e)?|(us-)?ascii|iso-?8859-([1-9]|1[013456])|latin-?1|(windows-|cp)125[0-8]|gb18030|gbk|gb2312"
    r"|big5|euc-(kr|jp)|shift-jis|iso-2022-jp",
    re.IGNORECASE,
)
"""Charsets that are text and no more: Python knows others, which unpack, escape or fail on purpose."""
_LONE = re.compile("[\ud800-\udfff]")
MOST_MESSAGES = 1000
MOST_SEGMENTS = 20_000
MOST_LINES = 100_000
"""In one batch; in one message; in one body. Whatever it is weighed by, the weighing must come to an end."""
OVER = "x-clerkship-over"
"""Said by a line of itself: what came over it, or goes over it, is `mllp`."""
SIZE = "x-clerkship-size"
"""Said by a line that had to let go of the end of a message: how many bytes it had."""
MOST_DIGITS = 16


class Listener(Frozen):
    """Where an agent listens for MLLP."""

    host: Annotated[str, Field(max_length=100, description="this machine: 127.0.0.1, ::1 or localhost")] = "127.0.0.1"
    port: Annotated[Whole, Field(ge=1, le=65535)]


class Mask:
    """Puts the sandbox's own facility where an agent writes its unguessable name, and takes it off the answer."""

    def __init__(self, alias: str, facility: str) -> None:
        self.facility = facility
        self._alias = alias
        self._written = ""

    def hide(self, text: str) -> str:
        """The text as it may be kept."""
        count = text.casefold().count(self._alias.casefold()) if self._alias else 0
        if count == 0:
            return text
        if text.count(self._alias) == count:
            self._written = self._alias
            return text.replace(self._alias, self.facility)
        alias = re.compile(re.escape(self._alias), re.IGNORECASE)
        found = alias.search(text)
        self._written = found[0] if found is not None else ""
        return alias.sub(self.facility, text)

    def show(self, text: str) -> str:
        """An answer's text, whose headers come from whom the agent wrote to, as it wrote them."""
        return "\r".join(map(self._shown, text.split("\r"))) if self._written else text

    def _shown(self, line: str) -> str:
        if line[:3] not in ("MSH", "BHS", "FHS"):
            return line
        fields = line.split(line[3])
        if fields[3] == self.facility:  # the fourth: the delimiter after its name is the first
            fields[3] = self._written
        return line[3].join(fields)


class Sheet(NamedTuple):
    """What came in one body."""

    batch: Batch
    messages: list[Message]


def _read(request: Request) -> bytes | str:
    """The body as text, where the request says what its charset is; else each message says it for itself."""
    body = request.body
    if max(body.count(b"\r"), body.count(b"\n")) > MOST_LINES:
        raise Refusal(413, "too_many_segments", f"a body may have {MOST_LINES} lines; send less at a time")
    stated = _CHARSET.search(request.headers.get("content-type", ""))
    if stated is None:
        return body
    charset = stated[1].replace("_", "-")
    if _TEXT.fullmatch(charset) is None:
        raise Refusal(415, "unsupported_charset", f"the charset {charset!r} is not read here; utf-8 is")
    try:
        text = body.decode(charset)
    except UnicodeError:
        return body
    return body if _LONE.search(text) else text


def _split(data: bytes | str) -> Batch:
    """The messages in it, not yet read; refused, all of it, before anything is done, where they are too many or too
    long to be."""
    batch = split(data)
    if len(batch.messages) > MOST_MESSAGES:
        reason = f"a batch may have {MOST_MESSAGES} messages, not {len(batch.messages)}; send several"
        raise Refusal(413, "too_many_messages", reason)
    longest = max((each.count("\r") for each in batch.messages), default=0)
    if longest > MOST_SEGMENTS:
        raise Refusal(413, "too_many_segments", f"a message may have {MOST_SEGMENTS} segments, not {longest}")
    return batch


def parse_sheet(request: Request, mask: Mask) -> Sheet:
    """The messages in it; what is no HL7 at all is refused, all of it."""
    batch = _split(_read(request))
    batch.flaws[:] = [each._replace(text=mask.hide(each.text)) for each in batch.flaws]
    batch.headers[:] = [read_segment(mask.hide(each.render()), each.delimiters) for each in batch.headers]
    try:
        messages = [parse(mask.hide(each)) for each in batch.messages]
    except BadMessage as bad:
        raise Refusal(400, "not_hl7", f"this is no HL7 v2 message: {bad}") from None
    if not messages:
        why = batch.flaws[0].text if batch.flaws else "it is empty"
        raise Refusal(400, "not_hl7", f"there is no HL7 v2 message here: {why}")
    return Sheet(batch, messages)


def parse_ack(request: Request, mask: Mask) -> Message:
    """One acknowledgement."""
    messages = parse_sheet(request, mask).messages
    if len(messages) != 1 or messages[0].first("MSA") is None:
        raise Refusal(400, "not_an_ack", "expected one acknowledgement: an MSH and an MSA segment")
    return messages[0]


def head_of(message: Message) -> Message:
    """Its MSH alone."""
    return Message(message.segments[:1])


def size_of(text: str) -> int:
    """In bytes, as it is sent."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def stated_size(request: Request) -> int:
    """What a line says of a message whose end it had to let go of."""
    said = request.headers.get(SIZE, "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < MOST_DIGITS else 0


def render_er7(text: str) -> Reply:
    """Messages as a reply, in the charset that they state; that there is nothing to say, where there is none."""
    if not text:
        return Reply(204)
    body, charset = encode(text)
    return Reply(200, body, f"{MEDIA}; charset={charset}")


def render_sent(sent: Iterable[Outgoing]) -> dict[str, Any]:
    """What the agent sent, each with what it was answered with."""
    return {"messages": [_outgoing(each) for each in sent]}


def _outgoing(sent: Outgoing) -> dict[str, Any]:
    told = {"control_id": sent.control_id, "type": sent.type, "sent": sent.at.isoformat(), "taken": sent.taken}
    return told | {"ack": sent.ack, "reasons": list(sent.reasons), "message": sent.text}


def render_inbox(entries: Iterable[Incoming]) -> dict[str, Any]:
    """What came for the agent, each with what the agent said to it."""
    return {"messages": [_incoming(each) for each in entries]}


def _incoming(entry: Incoming) -> dict[str, Any]:
    told = {"id": entry.id, "control_id": entry.control_id, "type": entry.type, "arrived": entry.at.isoformat()}
    return told | {"acknowledged": entry.said[-1].code if entry.said else None, "message": entry.text}


def parse_listener(body: bytes) -> Listener:
    """Where the agent listens: on this machine, for a sandbox calls nobody else."""
    try:
        found = Listener.model_validate(orjson.loads(body))
    except (orjson.JSONDecodeError, ValidationError):
        raise Refusal(400, "bad_listener", 'expected {"host": "127.0.0.1", "port": 6661}') from None
    if not _is_loopback(found.host):
        raise Refusal(400, "not_this_machine", "a listener is on this machine: 127.0.0.1, ::1 or localhost")
    return found


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_flag(text: str) -> bool:
    """`true` or `false`."""
    if text.lower() not in ("true", "false", ""):
        raise Refusal(400, "bad_flag", f"expected true or false, not {text[:40]!r}")
    return text.lower() == "true"
