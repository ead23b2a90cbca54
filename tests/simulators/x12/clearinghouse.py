"""A clearinghouse with a payer, and interchanges to send to it."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import orjson

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.formats.x12.interchange import Interchange, parse_interchanges
from clerkship.payer import SPEC as PAYER
from clerkship.payer.config import PayerConfig
from clerkship.playground.component import PreparedComponent
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.x12 import SPEC
from clerkship.simulators.x12.config import X12Config
from clerkship.simulators.x12.state import X12State

MEMBERS: dict[str, Any] = {
    "payers": {"NW001": {"name": "North Pay"}},
    "providers": {"1234567893": {"name": "Cedar Clinic"}},
    "members": [
        {
            "payer": "NW001",
            "member_id": "NW55501",
            "family": "Rivera",
            "given": ["Ana"],
            "birth_date": "1980-02-14",
            "gender": "female",
            "coverages": [{"start": "2026-01-01"}],
        }
    ],
    "claims": [
        {
            "number": "NWC451",
            "payer": "NW001",
            "member_id": "NW55501",
            "provider_id": "1234567893",
            "account": "ACCT77",
            "status": "pended",
            "reason": "missing_notes",
            "charge": 250.0,
            "start": "2026-01-05",
            "received": "2026-01-08",
        }
    ],
    "authorization_required": [{"procedure_codes": ["72148"]}],
    "determinations": [{"match": {"procedure_code": "72148"}, "status": "approved"}],
}
"""A payer with one member, one claim, and one service that needs an authorization."""
GUIDES = {
    "270": ("HS", "005010X279A1"),
    "276": ("HR", "005010X212"),
    "278": ("HI", "005010X217"),
    "837": ("HC", "005010X222A1"),
}


def eligibility(trace: str = "ELG1T", *, member: str = "NW55501", payer: str = "NW001") -> list[str]:
    """Return the segments of a 270 between ST and SE."""
    return [
        f"BHT*0022*13*{trace}*20260302*0900",
        "HL*1**20*1",
        f"NM1*PR*2*NORTHPAY*****PI*{payer}",
        "HL*2*1*21*1",
        "NM1*1P*2*CEDAR*****XX*1234567893",
        "HL*3*2*22*0",
        f"TRN*1*{trace}*9CEDAR0001",
        f"NM1*IL*1*RIVERA*ANA****MI*{member}",
        "DMG*D8*19800214*F",
        "DTP*291*D8*20260302",
        "EQ*30",
    ]


def claim_status(trace: str = "CS1T") -> list[str]:
    """Return the segments of a 276 between ST and SE."""
    return [
        f"BHT*0010*13*{trace}*20260302*0900",
        "HL*1**20*1",
        "NM1*PR*2*NORTHPAY*****PI*NW001",
        "HL*2*1*21*1",
        "NM1*41*2*CEDAR*****46*CLINIC01",
        "HL*3*2*19*1",
        "NM1*1P*2*CEDAR*****XX*1234567893",
        "HL*4*3*22*0",
        "DMG*D8*19800214*F",
        "NM1*IL*1*RIVERA*ANA****MI*NW55501",
        f"TRN*1*{trace}",
        "REF*EJ*ACCT77",
        "AMT*T3*250",
        "DTP*472*D8*20260105",
    ]


def authorization(trace: str = "PA1E") -> list[str]:
    """Return the segments of a 278 request between ST and SE."""
    return [
        f"BHT*0007*13*{trace}*20260302*0900",
        "HL*1**20*1",
        "NM1*X3*2*NORTHPAY*****PI*NW001",
        "HL*2*1*21*1",
        "NM1*1P*2*CEDAR*****XX*1234567893",
        "HL*3*2*22*1",
        "NM1*IL*1*RIVERA*ANA****MI*NW55501",
        "DMG*D8*19800214*F",
        "HL*4*3*EV*1",
        f"TRN*1*{trace}*9CEDAR0001",
        "UM*HS*I*62*11:B*****Y",
        "HI*ABK:M5416",
        "HL*5*4*SS*0",
        f"TRN*1*{trace}S*9CEDAR0001",
        "DTP*472*RD8*20260310-20260331",
        "SV1*HC:72148**UN*1",
    ]


CLAIM = ["BHT*0019*00*1*20260302*0900*CH"]


def group(code: str, *sets: Sequence[str], number: int = 1, version: str = "") -> str:
    """Build a functional group."""
    functional_code, guide = GUIDES[code]
    guide = version or guide
    parts = [f"GS*{functional_code}*CLINIC01*NW001*20260302*0900*{number}*X*{guide}"]
    for place, segments in enumerate(sets, 1):
        control = f"{place:04}"
        parts += [f"ST*{code}*{control}*{guide}", *segments, f"SE*{len(segments) + 2}*{control}"]
    return "~".join([*parts, f"GE*{len(sets)}*{number}", ""])


def interchange(*groups: str, number: int = 101, **header: str) -> str:
    """Build an interchange. `header` replaces elements of the ISA: sender, receiver, ta1, usage, version."""
    values = {"sender": "ZZ*CLINIC01", "receiver": "ZZ*CLEARING01", "ta1": "0", "usage": "T", "version": "00501"}
    values |= header
    parties = [f"{qualifier}*{id:15}" for qualifier, id in (values[key].split("*") for key in ("sender", "receiver"))]
    authorization = f"00*{' ' * 10}*00*{' ' * 10}"
    end = f"260302*0900*^*{values['version']}*{number:09}*{values['ta1']}*{values['usage']}*:"
    return f"ISA*{authorization}*{'*'.join(parties)}*{end}~{''.join(groups)}IEA*{len(groups)}*{number:09}~"


def one(code: str, segments: Sequence[str], number: int = 101, **header: str) -> str:
    """Build an interchange with one set."""
    return interchange(group(code, segments), number=number, **header)


class Clearinghouse:
    """A clearinghouse and a payer in a playground."""

    def __init__(self, payer: Mapping[str, Any] | None = None, **config: Any) -> None:
        prepared = PreparedSimulator(SPEC, X12Config.model_validate(config), SPEC.prepare(()))
        payer_config = PayerConfig.model_validate(MEMBERS | dict(payer or {}))
        domains = {"payer": PreparedComponent(PAYER, payer_config, PAYER.prepare(()))}
        self.rig = SimulatorRig(SPEC, prepared=prepared, domains=domains)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.rig.__exit__(*error)

    @property
    def state(self) -> X12State:
        state = self.rig.playground.sandboxes[self.rig.name].state
        assert isinstance(state, X12State)
        return state

    @property
    def kinds(self) -> list[str]:
        """The kinds of all events."""
        return [event.kind for event in self.rig.playground.log.events]

    def count(self, kind: str) -> int:
        """Return how many events of a kind there are."""
        return self.kinds.count(kind)

    def post(self, edi: str | bytes, headers: Mapping[str, str] | None = None, **query: str) -> Reply:
        """Send a body."""
        body = edi.encode() if isinstance(edi, str) else edi
        media = {"content-type": "application/edi-x12"} if headers is None else headers
        return self.rig.send(Request("POST", "/x12/interchanges", query, media, body))

    def send(self, edi: str) -> Interchange:
        """Send an interchange and parse the reply."""
        reply = self.post(edi)
        assert reply.status == 200, reply
        [parsed] = parse_interchanges(reply.body)
        assert not parsed.problems, parsed.problems
        assert not [problem for each in parsed.groups for problem in each.problems]
        assert not [problem for each in parsed.sets for problem in each.problems]
        return parsed

    def get(self, path: str, **query: str) -> Any:
        """Return the JSON at a path."""
        reply = self.rig.send(Request("GET", path, query))
        assert reply.status == 200, reply
        return orjson.loads(reply.body)


def segments_of(parsed: Interchange, id: str) -> list[str]:
    """Return the segments of all sets with an id, as encoded."""
    return [segment.render() for each in parsed.sets for segment in each.segments if segment.id == id]


def ta1_of(parsed: Interchange) -> str:
    """Return status and code of the only TA1: `R 025`."""
    [segment] = parsed.acknowledgments
    return f"{segment.raw(4)} {segment.raw(5)}"
