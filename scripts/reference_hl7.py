"""The page of the reference about the HL7 v2 interface: what is taken, how it is acknowledged, what is refused."""

from collections.abc import Iterator

from clerkship.hl7.flaw import ERROR_CONDITIONS
from clerkship.hl7.lenient import CHECKED_TIMES
from clerkship.hl7.message import Hl7Message, build_segment
from clerkship.hl7.tables import VERSIONS, load_tables
from clerkship.simulators.hl7.config import Hl7Config
from clerkship.simulators.hl7.events import SENT
from clerkship.simulators.hl7.intake import MAX_FLAWS, UNSUPPORTED, Fate, Verdict, answers

INTRODUCTION = """# HL7 v2

What the sandbox of kind `hl7` does with messages. How it is reached and configured is under
[simulators](simulators.md#hl7), why it is so under [decisions](../decisions/hl7_sandbox.md).
"""
READING = """## How a message is read

| | |
|---|---|
| form | ER7 (delimiters); XML is refused |
| lines | end with CR, LF or CRLF, as they come; kept with CR |
| delimiters | those that MSH-1 and MSH-2 name |
| charset | by `Content-Type`, how the bytes begin (UTF-16, UTF-32), MSH-18, else UTF-8 or Windows-1252 |
| charsets | those of table 0211 but CNS 11643; answers have that of MSH-18, and `?` for signs that it has not |
| segments of one's own | Z-segments pass anywhere |
| several messages | one after another, or as a batch: `FHS`, `BHS` … `BTS`, `FTS`, whose counts must be right |

An agent that comes by MLLP writes the facility it was told in MSH-6. In the log, and in what others see of the message,
that stands as the config's `facility`; in the acknowledgement it is what the agent wrote.
"""
TOLD = {
    "100": "a segment is missing, or stands where it may not; a batch is broken around its messages",
    "101": "a field or component that must be there is empty; without MSH-10 the message is rejected",
    "102": "a value is not of its field's data type",
    "103": "a value is not in its field's table: MSH-9.3, MSH-18, OBX-2",
    "200": "another type than those above: rejected",
    "201": "an event that the type has not in this version: rejected; one that whoever should follow it does not know",
    "202": "MSH-11 is none of P, D and T: rejected",
    "203": "another version than those above: rejected",
    "204": "who or what it is about is not known to whoever should follow it",
    "205": "MSH-10 is that of another message of this sender (MSH-3, MSH-4); it contradicts what is there already",
    "207": "more bytes than `max_message`: rejected, and only the MSH is kept; it could not be followed otherwise",
}
STATUSES = """## Over HTTP

`POST /hl7/outbound`, as HL7 over HTTP has it: the body is the message, or a batch, in `application/hl7-v2`; the
answer's body is the acknowledgement. A refusal that can be said in HL7's words is a success of the transport.

| | status |
|---|---|
| acknowledged, whatever the code | 200 |
| taken or refused, and no acknowledgement was asked for; an acknowledgement, taken or not | 204 |
| not HL7 at all: there is no MSH that could be answered | 400, as JSON, and nothing is done |
| more than 20 MB | 413 |

| of the inbox | status |
|---|---|
| looked at, taken | 200 |
| acknowledged; acknowledged again with the same code, which changes nothing | 204 |
| no acknowledgement, or a code that there is not; a listener that is not on this machine | 400 |
| no such message | 404 |
| MSA-2 names another message; it was acknowledged otherwise already | 409 |
"""
INBOX = """## The inbox

Messages for the agent are numbered `1`, `2`, … as they arrive; the same message may arrive twice. A message waits
until it is acknowledged, with any code. After `CA` the application's acknowledgement may follow: in a request to the
same address, or in a message of its own to `/hl7/outbound`, which is not answered. Application acknowledgements of
what the agent sent arrive in the inbox too (`hl7.ack.arrived`); they wait to be taken and need no answer.

An agent polls, or says where it listens for MLLP (`PUT /hl7/listener`, on the same machine): then each message is
delivered there, and what the listener answers is its acknowledgement. Each attempt is an `outbound.attempted` event.
After one that failed the next follows when `resend` has passed in simulated time, `attempts` in all.
"""


def hl7_page(head: str) -> str:
    """Messages, acknowledgements, codes, statuses."""
    sections = [
        head,
        INTRODUCTION,
        _messages() + "\n",
        _levels(),
        READING,
        _acknowledgements(),
        _codes(),
        STATUSES,
        INBOX,
    ]
    return "\n".join(sections).rstrip() + "\n"


def _messages() -> str:
    rows = "\n".join(f"| {type} | `hl7.{type.lower()}.sent` | {_events(type)} |" for type in SENT)
    return f"""## Messages

In versions {", ".join(VERSIONS)}:

| type | event in the log | trigger events, of all versions |
|---|---|---|
{rows}
"""


def _levels() -> str:
    times = ", ".join(f"{name}-{field}" for name, fields in CHECKED_TIMES.items() for field in fields)
    return f"""## Validation

What a message is held against is the config's `validation`:

| refused | `strict` | `lenient` |
|---|---|---|
| a version, type or event that is not above; no MSH-9, MSH-10 or MSH-12 | yes | yes |
| a batch whose counts are wrong, or whose end is missing | yes | yes |
| a line that is no segment | yes | yes |
| a time in {times}, or a value in OBX-5, that cannot be read as what it is | yes | yes |
| a segment that is missing, or stands where it may not (SIU without RGS, A08 without PV1) | yes | no |
| a field or component that must be there (SCH-6, SCH-16, SCH-20), or comes again and may not (OBR-3) | yes | no |
| any other value that is not of its data type; `<5` where OBX-2 says NM | yes | no |
| MSH-9.3 that names another structure, MSH-11 that is none of P, D, T, a charset or data type nobody knows | yes | no |
| MSH-9.3 that is missing, in any version; blanks around a number or date; Z-segments | no | no |

`strict` is for a task that is about writing HL7: the agent is told of each flaw, and has to mend it, as a partner's
conformance test would have it. `lenient` is for a task in which messages are a means, or that replays a feed as
hospitals send it. `hl7_structural` with `valid: true`, which it has unless you say otherwise, asks for all of `strict`
whatever the sandbox took: with a lenient sandbox, say `valid: false` where only the values count.
"""


def _events(type: str) -> str:
    found = {event for version in VERSIONS for event in load_tables(version)["events"].get(type, {})}
    return ", ".join(sorted(found))


def _acknowledgements() -> str:
    rows = "\n".join(_rows())
    return f"""## Acknowledgements

`MSA-1` is AA for what is taken, AE for what has flaws, AR for what is not done here; `MSA-2` is the sender's MSH-10.
In enhanced mode, which a sender chooses by MSH-15 or MSH-16, the accept acknowledgement (CA, CE, CR) comes at once,
and the application's (AA, AE) as a message in the agent's inbox. Where no accept acknowledgement is asked for, the
application's comes at once, as in original mode. An error that has been told is not told again.

| MSH-15 | MSH-16 | taken: at once, later | flawed: at once, later |
|---|---|---|---|
{rows}

A message that was taken and that a sandbox refuses to follow (`reactions`), for example because the chart has no such
patient, is answered with AE (`hl7.message.objected`). It counts as not taken, and may be sent again. An
acknowledgement is never answered with one: what nobody waits for is refused in the log alone.

The same message again, control id and all, is answered as before and not taken again (`hl7.message.repeated`). A
batch is answered with a batch that has an acknowledgement for each message that wants one; of a batch that is broken
nothing is taken.
"""


def _rows() -> Iterator[str]:
    conditions = ("AL", "SU", "ER", "NE")
    for accept, application in (("", ""), *((first, second) for first in conditions for second in conditions)):
        told = [f"{now}, {later}" for now, later in (_told(accept, application, fate) for fate in ("A", "E"))]
        yield f"| {accept or '(empty)'} | {application or '(empty)'} | {' | '.join(told)} |"


def _told(accept: str, application: str, fate: Fate) -> tuple[str, str]:
    message = Hl7Message([build_segment("MSH", {9: "ADT^A01", 10: "1", 15: accept, 16: application})])
    found = answers(message, Verdict(fate))
    return found.code if found.now else "–", found.later or "–"


def _codes() -> str:
    rows = "\n".join(f"| {code} | {ERROR_CONDITIONS[code]} | {TOLD[code]} |" for code in sorted(TOLD))
    assert set(UNSUPPORTED) <= TOLD.keys()
    return f"""## Errors

Each flaw is an `ERR` segment with its code of HL7 table 0357 (before 2.5, a repetition of ERR-1), at most
{MAX_FLAWS} of them; a message may have {Hl7Config().max_message:,} bytes where the config says nothing else.

| code | | |
|---|---|---|
{rows}
"""
