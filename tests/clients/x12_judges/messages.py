"""Valid interchanges, written by hand, with envelopes and counts that no code of the project computes."""

from collections.abc import Sequence
from typing import NamedTuple

ISA = "ISA*00*          *00*          *ZZ*{sender:<15}*ZZ*{receiver:<15}*261115*0900*^*00501*{control:09d}*0*T*:"
CLINIC, PAYER = "CLINIC01", "PAYER01"


class SetKind(NamedTuple):
    """A kind of transaction set: the code of its groups, its guide, and who sends it."""

    group: str
    version: str
    is_answer: bool


KINDS = {
    "270": SetKind("HS", "005010X279A1", False),
    "271": SetKind("HB", "005010X279A1", True),
    "276": SetKind("HR", "005010X212", False),
    "277": SetKind("HN", "005010X212", True),
    "278 request": SetKind("HI", "005010X217", False),
    "278 response": SetKind("HI", "005010X217", True),
    "999": SetKind("FA", "005010X231A1", True),
}


def interchange(segments: Sequence[str]) -> str:
    """Return segments as an interchange."""
    return "".join(f"{segment}~" for segment in segments)


def enveloped(kind: str, body: str, control: int = 101) -> list[str]:
    """Return the segments of an interchange with one transaction set; `body` is what stands between ST and SE."""
    group, version, is_answer = KINDS[kind]
    sender, receiver = (PAYER, CLINIC) if is_answer else (CLINIC, PAYER)
    inside = [segment for segment in body.replace("\n", "").split("~") if segment]
    return [
        ISA.format(sender=sender, receiver=receiver, control=control),
        f"GS*{group}*{sender}*{receiver}*20261115*0900*{control}*X*{version}",
        f"ST*{kind[:3]}*0001*{version}",
        *inside,
        f"SE*{len(inside) + 2}*0001",
        f"GE*1*{control}",
        f"IEA*1*{control:09d}",
    ]


SOURCE = "HL*1**20*1~NM1*PR*2*NORTHPAY*****PI*NW001~HL*2*1*21*1~"
ELIGIBILITY_PARTIES = f"{SOURCE}NM1*1P*2*CEDAR*****XX*1234567893~"
CLAIM_PARTIES = f"{SOURCE}NM1*41*2*CEDAR*****46*CLINIC01~HL*3*2*19*1~NM1*1P*2*CEDAR*****XX*1234567893~"
REVIEW_PARTIES = """HL*1**20*1~NM1*X3*2*NORTHPAY*****PI*NW001~HL*2*1*21*1~NM1*1P*2*CEDAR*****XX*1234567893~
HL*3*2*22*1~NM1*IL*1*RIVERA*ANA****MI*NW55501~"""
MEMBER = "NM1*IL*1*RIVERA*ANA****MI*NW55501~"

BODIES: dict[str, tuple[str, str]] = {
    "270": (
        "270",
        f"""BHT*0022*13*ELG1*20261115*0900~{ELIGIBILITY_PARTIES}HL*3*2*22*0~TRN*1*ELG1T*9CEDAR0001~{MEMBER}
DMG*D8*19800214*F~DTP*291*D8*20261115~EQ*30~""",
    ),
    "270 for a dependent": (
        "270",
        f"""BHT*0022*13*ELG2*20261115*0900~{ELIGIBILITY_PARTIES}HL*3*2*22*1~{MEMBER}HL*4*3*23*0~
TRN*1*ELG2T*9CEDAR0001~NM1*03*1*RIVERA*LEO~DMG*D8*20150601*M~INS*N*19~DTP*291*D8*20261115~EQ*98~""",
    ),
    "271": (
        "271",
        f"""BHT*0022*11*ELG1*20261115*0901~{ELIGIBILITY_PARTIES}HL*3*2*22*0~TRN*2*ELG1T*9CEDAR0001~{MEMBER}
DMG*D8*19800214*F~DTP*346*D8*20260101~EB*1**30**NORTH PPO~EB*1**1^33^47^88^98^UC~EB*C*IND*30***23*1500*****Y~
EB*B**98***27*25*****Y~EB*A**47*****.2***Y*Y~""",
    ),
    "271 with a visit limit": (
        "271",
        f"""BHT*0022*11*ELG1*20261115*0901~{ELIGIBILITY_PARTIES}HL*3*2*22*0~TRN*2*ELG1T*9CEDAR0001~{MEMBER}
DTP*346*D8*20260101~EB*1**30**NORTH PPO~EB*F**33***23***VS*20**Y~""",
    ),
    "271 that rejects the subscriber": (
        "271",
        f"""BHT*0022*11*ELG3*20261115*0901~{ELIGIBILITY_PARTIES}HL*3*2*22*0~TRN*2*ELG3T*9CEDAR0001~{MEMBER}
AAA*N**75*C~""",
    ),
    "271 that rejects the provider": (
        "271",
        f"BHT*0022*11*ELG4*20261115*0901~{ELIGIBILITY_PARTIES}AAA*N**51*C~".replace("HL*2*1*21*1", "HL*2*1*21*0"),
    ),
    "276": (
        "276",
        f"""BHT*0010*13*CS1*20261115*0900~{CLAIM_PARTIES}HL*4*3*22*0~DMG*D8*19800214*F~{MEMBER}TRN*1*CS1T~
REF*EJ*ACCT77~AMT*T3*250~DTP*472*D8*20261005~""",
    ),
    "277": (
        "277",
        f"""BHT*0010*08*CS1*20261115*0901*DG~{CLAIM_PARTIES}HL*4*3*22*0~{MEMBER}TRN*2*CS1T~
STC*F1:65*20261101**250*180*20261101**20261103*EFT881~REF*1K*NWC451~DTP*472*D8*20261005~""",
    ),
    "278 request": (
        "278 request",
        f"""BHT*0007*13*PA1*20261115*0900~{REVIEW_PARTIES}DMG*D8*19800214*F~HL*4*3*EV*1~TRN*1*PA1E*9CEDAR0001~
UM*HS*I*62*11:B*****Y~HI*ABK:M5416~PWK*77*EL***AC*ATT0001~NM1*SJ*2*LAKE MRI*****XX*1098765435~HL*5*4*SS*0~
TRN*1*PA1S1*9CEDAR0001~DTP*472*RD8*20261201-20261231~SV1*HC:72148**UN*1~HSD*VS*2*WK*1*34*3~""",
    ),
    "278 response": (
        "278 response",
        f"""BHT*0007*11*PA1*20261115*0901*18~{REVIEW_PARTIES}HL*4*3*EV*1~TRN*2*PA1E*9CEDAR0001~UM*HS*I*62*11:B~
HCR*A1*NWA7001~HL*5*4*SS*0~TRN*2*PA1S1*9CEDAR0001~HCR*A1*NWA7001~DTP*472*RD8*20261201-20261231~
DTP*036*D8*20270215~SV1*HC:72148**UN*1~""",
    ),
    "999": ("999", "AK1*HS*101*005010X279A1~AK2*270*0001*005010X279A1~IK5*A~AK9*A*1*1*1~"),
    "999 that rejects": (
        "999",
        """AK1*HI*103*005010X217~AK2*278*0001*005010X217~IK3*NM1*8**8~CTX*TRN02:PA1E~IK4*9*67*1~IK5*R*5~
AK9*R*1*1*0~""",
    ),
}


def valid_message(name: str) -> list[str]:
    """Return the segments of a valid interchange by its name in `BODIES`."""
    kind, body = BODIES[name]
    return enveloped(kind, body)


def acknowledgment(code: str = "A", note: str = "000") -> list[str]:
    """Return the segments of an interchange that is a TA1 alone."""
    return [
        ISA.format(sender=PAYER, receiver=CLINIC, control=901),
        f"TA1*000000101*261115*0900*{code}*{note}",
        "IEA*0*000000901",
    ]
