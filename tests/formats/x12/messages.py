"""X12 messages for tests. They are written here by hand, not with the writer that is tested."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS, X12Delimiters

ELIGIBILITY = "005010X279A1"
CLAIM_STATUS = "005010X212"
AUTHORIZATION = "005010X217"
ACKNOWLEDGMENT = "005010X231A1"
PROVIDER = "NM1*1P*2*HARBOR CLINIC*****XX*1234567893"


@dataclass(frozen=True)
class Parties:
    """The payer, the provider and the subscriber of a request; change one with `dataclasses.replace`."""

    payer_id: str = "SUM01"
    provider: str = PROVIDER
    member_id: str = "SM70010"
    last_name: str = "OKAFOR"
    first_name: str = "JUNE"
    birth_date: str = "19790312"
    gender: str = "F"

    @property
    def payer(self) -> str:
        """The end of the NM1 segment of the payer, after NM101."""
        return f"2*SUMMIT HEALTH*****PI*{self.payer_id}"

    @property
    def subscriber(self) -> str:
        """The NM1 segment of the subscriber."""
        return f"NM1*IL*1*{self.last_name}*{self.first_name}****MI*{self.member_id}"

    @property
    def birth(self) -> str:
        """The DMG segment of the subscriber."""
        return f"DMG*D8*{self.birth_date}*{self.gender}"


PARTIES = Parties()


def transaction_set(code: str, version: str, segments: Iterable[str], number: str = "0001") -> str:
    """Return the text of a set: ST, the segments, and SE with the right count."""
    body = [f"ST*{code}*{number}*{version}", *segments]
    return "".join(f"{segment}~" for segment in [*body, f"SE*{len(body) + 1}*{number}"])


def functional_group(code: str, version: str, sets: Sequence[str], number: str = "101") -> str:
    """Return the text of a group: GS, the sets, and GE with the right count."""
    header = f"GS*{code}*HARBOR*SUMMIT*20261115*0900*{number}*X*{version}~"
    return f"{header}{''.join(sets)}GE*{len(sets)}*{number}~"


def interchange(
    *groups: str,
    number: str = "000000101",
    sender: str = "HARBOR",
    receiver: str = "SUMMIT",
    usage: str = "T",
    wants_ta1: bool = False,
) -> str:
    """Return the text of an interchange: ISA, the groups, and IEA with the right count."""
    parties = f"ZZ*{sender:<15}*ZZ*{receiver:<15}"
    isa = f"ISA*00*{'':10}*00*{'':10}*{parties}*261115*0900*^*00501*{number}*{int(wants_ta1)}*{usage}*:~"
    return f"{isa}{''.join(groups)}IEA*{len(groups)}*{number}~"


def with_delimiters(text: str, delimiters: X12Delimiters) -> str:
    """Return a message of this module with other separators."""
    return text.translate(str.maketrans("".join(DEFAULT_X12_DELIMITERS), "".join(delimiters)))


def eligibility_set(
    number: str = "0001",
    *,
    parties: Parties = PARTIES,
    trace: str = "T270A",
    service_types: str = "30",
    date: str = "20261115",
    dependent: Sequence[str] = (),
) -> str:
    """Return a 270. `dependent` are the segments of 2100D (NM1 with 03, DMG), if the patient is a dependent."""
    subscriber = [parties.subscriber, parties.birth]
    tracing = f"TRN*1*{trace}*9HARBOR001"
    question = [f"DTP*291*D8*{date}", f"EQ*{service_types}"]
    levels = ["HL*3*2*22*0", tracing, *subscriber, *question]
    if dependent:
        levels = ["HL*3*2*22*1", *subscriber, "HL*4*3*23*0", tracing, *dependent, *question]
    segments = [
        f"BHT*0022*13*{trace}*20261115*0900",
        *("HL*1**20*1", f"NM1*PR*{parties.payer}"),
        *("HL*2*1*21*1", parties.provider),
        *levels,
    ]
    return transaction_set("270", ELIGIBILITY, segments, number)


def claim_status_set(
    number: str = "0001",
    *,
    parties: Parties = PARTIES,
    trace: str = "T276A",
    details: Sequence[str] = ("REF*EJ*ACCT31", "AMT*T3*180", "DTP*472*D8*20261005"),
) -> str:
    """Return a 276. `details` are the segments after TRN: references, charge, dates."""
    segments = [
        f"BHT*0010*13*{trace}*20261115*0900",
        *("HL*1**20*1", f"NM1*PR*{parties.payer}"),
        *("HL*2*1*21*1", "NM1*41*2*HARBOR CLINIC*****46*HARBOR"),
        *("HL*3*2*19*1", parties.provider),
        *("HL*4*3*22*0", parties.birth, parties.subscriber),
        *(f"TRN*1*{trace}", *details),
    ]
    return transaction_set("276", CLAIM_STATUS, segments, number)


def authorization_set(
    number: str = "0001",
    *,
    parties: Parties = PARTIES,
    trace: str = "T278A",
    review: str = "UM*HS*I*62*11:B*****Y",
    event: Sequence[str] = ("HI*ABK:M5416",),
    services: Sequence[Sequence[str]] = (("DTP*472*RD8*20261201-20261231", "SV1*HC:72148**UN*1"),),
) -> str:
    """Return a 278 request. `event` are the segments after UM; `services` those of each service level after its TRN."""
    segments = [
        f"BHT*0007*13*{trace}*20261115*0900",
        *("HL*1**20*1", f"NM1*X3*{parties.payer}"),
        *("HL*2*1*21*1", parties.provider),
        *("HL*3*2*22*1", parties.subscriber, parties.birth),
        *(f"HL*4*3*EV*{int(bool(services))}", f"TRN*1*{trace}*9HARBOR001", review, *event),
    ]
    for place, service in enumerate(services, 5):
        segments += [f"HL*{place}*4*SS*0", f"TRN*1*{trace}S{place - 4}*9HARBOR001", *service]
    return transaction_set("278", AUTHORIZATION, segments, number)


def eligibility_request(*sets: str, number: str = "000000101") -> str:
    """Return an interchange with 270 sets; one set by default."""
    return interchange(functional_group("HS", ELIGIBILITY, sets or (eligibility_set(),)), number=number)


def claim_status_request(*sets: str, number: str = "000000101") -> str:
    """Return an interchange with 276 sets; one set by default."""
    return interchange(functional_group("HR", CLAIM_STATUS, sets or (claim_status_set(),)), number=number)


def authorization_request(*sets: str, number: str = "000000101") -> str:
    """Return an interchange with 278 requests; one set by default."""
    return interchange(functional_group("HI", AUTHORIZATION, sets or (authorization_set(),)), number=number)


def acknowledgment() -> str:
    """Return an interchange with a 999 that accepts one 270."""
    segments = [f"AK1*HS*101*{ELIGIBILITY}", f"AK2*270*0001*{ELIGIBILITY}", "IK5*A", "AK9*A*1*1*1"]
    return interchange(
        functional_group("FA", ACKNOWLEDGMENT, [transaction_set("999", ACKNOWLEDGMENT, segments)]), number="000000301"
    )
