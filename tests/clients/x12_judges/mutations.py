"""Broken interchanges: each is a valid one with one flaw."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.clients.x12_judges.messages import acknowledgment, interchange, valid_message

Change = Callable[[list[str]], list[str]]


class Mutation(NamedTuple):
    """One flaw: what it is, and the change that puts it into a valid message."""

    flaw: str
    change: Change


def index_of(segments: Sequence[str], start: str, nth: int = 1) -> int:
    """Return the place of the nth segment that starts with a text."""
    return [place for place, segment in enumerate(segments) if segment.startswith(start)][nth - 1]


def recount(segments: list[str]) -> list[str]:
    """Put the right number of segments in SE01, so that the intended flaw is the only one."""
    if any(segment.startswith("ST*") for segment in segments) and segments[-3].startswith("SE*"):
        count = len(segments) - 2 - index_of(segments, "ST*")
        segments[-3] = f"SE*{count}*{segments[-3].split('*')[2]}"
    return segments


def replace(old: str, new: str, nth: int = 1) -> Change:
    """Replace the start of the nth segment that starts with `old`."""

    def change(segments: list[str]) -> list[str]:
        place = index_of(segments, old, nth)
        segments[place] = new + segments[place].removeprefix(old)
        return segments

    return change


def remove(start: str, nth: int = 1) -> Change:
    """Leave out the nth segment that starts with a text."""

    def change(segments: list[str]) -> list[str]:
        del segments[index_of(segments, start, nth)]
        return recount(segments)

    return change


def swap(first: str, second: str) -> Change:
    """Exchange two segments."""

    def change(segments: list[str]) -> list[str]:
        one, other = index_of(segments, first), index_of(segments, second)
        segments[one], segments[other] = segments[other], segments[one]
        return segments

    return change


def insert(segment: str, before: str) -> Change:
    """Insert a segment before the first that starts with a text."""

    def change(segments: list[str]) -> list[str]:
        segments.insert(index_of(segments, before), segment)
        return recount(segments)

    return change


def append(start: str, elements: str) -> Change:
    """Add elements to the end of a segment."""

    def change(segments: list[str]) -> list[str]:
        segments[index_of(segments, start)] += elements
        return segments

    return change


ENVELOPE = (
    Mutation("IEA01 counts too many groups", replace("IEA*1", "IEA*2")),
    Mutation("IEA02 differs from ISA13", replace("IEA*1*000000101", "IEA*1*000000102")),
    Mutation("GE01 counts too many sets", replace("GE*1", "GE*2")),
    Mutation("GE02 differs from GS06", replace("GE*1*101", "GE*1*102")),
    Mutation("SE01 counts too many segments", replace("SE*", "SE*1")),
    Mutation("SE02 differs from ST02", lambda segments: [*segments[:-3], f"{segments[-3]}9", *segments[-2:]]),
    Mutation("SE is missing", remove("SE*")),
    Mutation("GE is missing", remove("GE*")),
    Mutation("IEA is missing", remove("IEA*")),
    Mutation("ST is missing", remove("ST*")),
    Mutation("GS is missing", remove("GS*")),
    Mutation("ISA is too short", lambda segments: [segments[0].replace("1  ", "1 ", 1), *segments[1:]]),
    Mutation("it ends in the middle", lambda segments: segments[: len(segments) // 2]),
)

MUTATIONS: dict[str, tuple[Mutation, ...]] = {
    "270": (
        *ENVELOPE,
        Mutation("BHT is missing", remove("BHT*")),
        Mutation("BHT01 is of another set", replace("BHT*0022", "BHT*0010")),
        Mutation("BHT02 is an unknown code", replace("BHT*0022*13", "BHT*0022*99")),
        Mutation("BHT04 is no date", replace("BHT*0022*13*ELG1*20261115", "BHT*0022*13*ELG1*20261345")),
        Mutation("BHT05 is no time", replace("BHT*0022*13*ELG1*20261115*0900", "BHT*0022*13*ELG1*20261115*2599")),
        Mutation("the payer's NM1 is missing", remove("NM1*PR")),
        Mutation("the provider's NM1 is missing", remove("NM1*1P")),
        Mutation("the provider's NM1 has no id", replace("NM1*1P*2*CEDAR*****XX*1234567893", "NM1*1P*2*CEDAR")),
        Mutation("the first HL is missing", remove("HL*1")),
        Mutation("the subscriber's HL is missing", remove("HL*3")),
        Mutation("HL02 names no parent", replace("HL*3*2", "HL*3*7")),
        Mutation("HL03 is an unknown code", replace("HL*3*2*22", "HL*3*2*99")),
        Mutation("HL04 is an unknown code", replace("HL*3*2*22*0", "HL*3*2*22*5")),
        Mutation("TRN01 is that of an answer", replace("TRN*1", "TRN*2")),
        Mutation("TRN02 is empty", replace("TRN*1*ELG1T", "TRN*1*")),
        Mutation("TRN follows the name", swap("TRN*", "NM1*IL")),
        Mutation("NM101 is an unknown code", replace("NM1*IL", "NM1*ZQ")),
        Mutation("NM102 is an unknown code", replace("NM1*IL*1", "NM1*IL*9")),
        Mutation("NM108 has no NM109", replace("NM1*IL*1*RIVERA*ANA****MI*NW55501", "NM1*IL*1*RIVERA*ANA****MI")),
        Mutation("NM109 is too long", append("NM1*IL", "9" * 80)),
        Mutation("the name is there twice", insert("NM1*IL*1*RIVERA*ANA****MI*NW55501", "DMG*")),
        Mutation("DMG precedes the name", swap("DMG*", "NM1*IL")),
        Mutation("DMG01 is an unknown code", replace("DMG*D8", "DMG*D9")),
        Mutation("DMG02 is no date", replace("DMG*D8*19800214", "DMG*D8*19800231")),
        Mutation("DMG03 is an unknown code", replace("DMG*D8*19800214*F", "DMG*D8*19800214*Q")),
        Mutation("DTP01 is an unknown code", replace("DTP*291", "DTP*999")),
        Mutation("DTP02 is an unknown code", replace("DTP*291*D8", "DTP*291*XX")),
        Mutation("DTP03 is no date", replace("DTP*291*D8*20261115", "DTP*291*D8*15.11.2026")),
        Mutation("DTP03 is a date, not the period that DTP02 states", replace("DTP*291*D8", "DTP*291*RD8")),
        Mutation("EQ is empty", replace("EQ*30", "EQ")),
        Mutation("EQ01 is an unknown code", replace("EQ*30", "EQ*9Z9")),
        Mutation("a segment is of another set", insert("CLM*ACCT77*250", "EQ*")),
        Mutation("a segment is unknown", insert("ZZZ*1", "EQ*")),
        Mutation("a segment has too many elements", append("DTP*", "*1*2*3")),
        Mutation("a segment ends in empty elements", append("EQ*", "***")),
    ),
    "270 for a dependent": (
        Mutation("the dependent has the code of other sets", replace("NM1*03", "NM1*QC")),
        Mutation("the dependent's HL is missing", remove("HL*4")),
        Mutation("HL04 promises no child, and one follows", replace("HL*3*2*22*1", "HL*3*2*22*0")),
        Mutation("the dependent follows a receiver", replace("HL*4*3", "HL*4*2")),
        Mutation("the dependent's name is missing", remove("NM1*03")),
        Mutation("INS01 is an unknown code", replace("INS*N", "INS*Q")),
        Mutation("INS02 is an unknown code", replace("INS*N*19", "INS*N*ZZ")),
    ),
    "271": (
        Mutation("BHT02 is that of a request", replace("BHT*0022*11", "BHT*0022*13")),
        Mutation("EB01 is an unknown code", replace("EB*C", "EB*Q9")),
        Mutation("EB01 is empty", replace("EB*1", "EB*")),
        Mutation("EB02 is an unknown code", replace("EB*C*IND", "EB*C*ALL")),
        Mutation("EB03 repeats an unknown code", replace("EB*1**1^33", "EB*1**1^9Z9")),
        Mutation("EB06 is an unknown code", replace("EB*C*IND*30***23", "EB*C*IND*30***99")),
        Mutation("EB07 is no number", replace("EB*B**98***27*25", "EB*B**98***27*many")),
        Mutation("EB08 is no number", replace("EB*A**47*****.2", "EB*A**47*****fifth")),
        Mutation("EB11 is an unknown code", replace("EB*A**47*****.2***Y", "EB*A**47*****.2***M")),
        Mutation("AAA follows the dates", insert("AAA*N**75*C", "EB*")),
        Mutation("DTP01 is an unknown code", replace("DTP*346", "DTP*999")),
        Mutation("MSG stands before EB", insert("MSG*CALL US", "EB*")),
        Mutation("LS has no LE", insert("LS*2120", "SE*")),
    ),
    "271 that rejects the provider": (
        Mutation("AAA01 is an unknown code", replace("AAA*N", "AAA*Q")),
        Mutation("AAA03 is an unknown code", replace("AAA*N**51", "AAA*N**ZZ")),
        Mutation("AAA03 is empty", replace("AAA*N**51", "AAA*N**")),
        Mutation("AAA04 is an unknown code", replace("AAA*N**51*C", "AAA*N**51*Q")),
        Mutation(
            "AAA stands ten times", lambda segments: recount([*segments[:-3], *["AAA*N**51*C"] * 9, *segments[-3:]])
        ),
    ),
    "276": (
        Mutation("TRN is missing", remove("TRN*")),
        Mutation("DMG follows the name", swap("DMG*", "NM1*IL")),
        Mutation("the submitter's HL is missing", remove("HL*2")),
        Mutation("the provider has the level of a subscriber", replace("HL*3*2*19", "HL*3*2*22")),
        Mutation("the submitter's qualifier is unknown", replace("NM1*41*2*CEDAR*****46", "NM1*41*2*CEDAR*****QQ")),
        Mutation("REF01 is an unknown code", replace("REF*EJ", "REF*Q9")),
        Mutation("REF02 is empty", replace("REF*EJ*ACCT77", "REF*EJ")),
        Mutation("AMT01 is an unknown code", replace("AMT*T3", "AMT*Q9")),
        Mutation("AMT02 is no number", replace("AMT*T3*250", "AMT*T3*much")),
        Mutation("DTP03 is no date", replace("DTP*472*D8*20261005", "DTP*472*D8*20261035")),
        Mutation("AMT precedes REF", swap("AMT*", "REF*")),
        Mutation("BHT02 is that of an answer", replace("BHT*0010*13", "BHT*0010*08")),
    ),
    "277": (
        Mutation("STC is missing", remove("STC*")),
        Mutation("TRN is missing", remove("TRN*")),
        Mutation("TRN01 is that of a request", replace("TRN*2", "TRN*1")),
        Mutation("STC01 has one component", replace("STC*F1:65", "STC*F1")),
        Mutation("STC01 is empty", replace("STC*F1:65", "STC*")),
        Mutation("STC02 is no date", replace("STC*F1:65*20261101", "STC*F1:65*20261131")),
        Mutation("STC04 is no number", replace("STC*F1:65*20261101**250", "STC*F1:65*20261101**much")),
        Mutation("STC precedes TRN", swap("STC*", "TRN*")),
        Mutation("REF01 is an unknown code", replace("REF*1K", "REF*Q9")),
        Mutation(
            "BHT06 is an unknown code", replace("BHT*0010*08*CS1*20261115*0901*DG", "BHT*0010*08*CS1*20261115*0901*QQ")
        ),
        Mutation("DMG is of the request", insert("DMG*D8*19800214*F", "NM1*IL")),
    ),
    "278 request": (
        Mutation("BHT02 is an unknown code", replace("BHT*0007*13", "BHT*0007*99")),
        Mutation("UM is missing", remove("UM*")),
        Mutation("UM01 is an unknown code", replace("UM*HS", "UM*QQ")),
        Mutation("UM02 is an unknown code", replace("UM*HS*I", "UM*HS*Q")),
        Mutation("UM precedes TRN", swap("UM*", "TRN*")),
        Mutation("the payer's NM1 is missing", remove("NM1*X3")),
        Mutation("the payer has an unknown code", replace("NM1*X3", "NM1*Q9")),
        Mutation("the subscriber's HL is missing", remove("HL*3")),
        Mutation("DMG02 is no date", replace("DMG*D8*19800214", "DMG*D8*19800231")),
        Mutation("DTP03 is no period", replace("DTP*472*RD8*20261201-20261231", "DTP*472*RD8*20261201")),
        Mutation("DTP follows SV1", swap("DTP*472", "SV1*")),
        Mutation("HSD precedes SV1", swap("HSD*", "SV1*")),
        Mutation("HSD01 is an unknown code", replace("HSD*VS", "HSD*QQ")),
        Mutation("HSD02 is no number", replace("HSD*VS*2", "HSD*VS*two")),
        Mutation("HSD05 is an unknown code", replace("HSD*VS*2*WK*1*34", "HSD*VS*2*WK*1*99")),
        Mutation("PWK02 is an unknown code", replace("PWK*77*EL", "PWK*77*QQ")),
    ),
    "278 response": (
        Mutation(
            "BHT06 is an unknown code", replace("BHT*0007*11*PA1*20261115*0901*18", "BHT*0007*11*PA1*20261115*0901*77")
        ),
        Mutation("HCR01 is an unknown code", replace("HCR*A1", "HCR*Q9")),
        Mutation("HCR01 is empty", replace("HCR*A1", "HCR*")),
        Mutation("HCR precedes UM", swap("HCR*", "UM*")),
        Mutation("AAA03 is an unknown code", insert("AAA*N**Q9*C", "UM*")),
        Mutation("AAA follows HCR", insert("AAA*N**33*C", "HL*5")),
        Mutation("the provider's HL is missing", remove("HL*2")),
        Mutation("TRN01 is an unknown code", replace("TRN*2", "TRN*9")),
        Mutation("DTP036 is no date", replace("DTP*036*D8*20270215", "DTP*036*D8*20270230")),
    ),
    "999": (
        *ENVELOPE,
        Mutation("AK1 is missing", remove("AK1*")),
        Mutation("IK5 is missing", remove("IK5*")),
        Mutation("AK9 is missing", remove("AK9*")),
        Mutation("AK101 is an unknown code", replace("AK1*HS", "AK1*QQ")),
        Mutation("AK102 is no number", replace("AK1*HS*101", "AK1*HS*one")),
        Mutation("AK201 is an unknown code", replace("AK2*270", "AK2*2700")),
        Mutation("IK501 is an unknown code", replace("IK5*A", "IK5*Q")),
        Mutation("AK901 is an unknown code", replace("AK9*A", "AK9*Q")),
        Mutation("AK902 is no number", replace("AK9*A*1", "AK9*A*x")),
        Mutation("IK5 precedes AK2", swap("IK5*", "AK2*")),
        Mutation("AK9 precedes IK5", swap("AK9*", "IK5*")),
        Mutation("ST03 is of another guide", replace("ST*999*0001*005010X231A1", "ST*999*0001*005010X279A1")),
    ),
    "999 that rejects": (
        Mutation("IK304 is an unknown code", replace("IK3*NM1*8**8", "IK3*NM1*8**Q")),
        Mutation("IK302 is no number", replace("IK3*NM1*8", "IK3*NM1*x")),
        Mutation("IK403 is an unknown code", replace("IK4*9*67*1", "IK4*9*67*Q")),
        Mutation("IK401 is empty", replace("IK4*9", "IK4*")),
        Mutation("IK4 precedes IK3", swap("IK4*", "IK3*")),
        Mutation("CTX01 is empty", replace("CTX*TRN02:PA1E", "CTX")),
        Mutation("IK502 is an unknown code", replace("IK5*R*5", "IK5*R*Q")),
    ),
    "TA1": (
        Mutation("TA104 is an unknown code", replace("TA1*000000101*261115*0900*A", "TA1*000000101*261115*0900*Q")),
        Mutation(
            "TA105 is an unknown code", replace("TA1*000000101*261115*0900*A*000", "TA1*000000101*261115*0900*A*999")
        ),
        Mutation("TA105 is missing", replace("TA1*000000101*261115*0900*A*000", "TA1*000000101*261115*0900*A")),
        Mutation("TA102 is no date", replace("TA1*000000101*261115", "TA1*000000101*261345")),
        Mutation("IEA01 counts a group", replace("IEA*0", "IEA*1")),
        Mutation("IEA02 differs from ISA13", replace("IEA*0*000000901", "IEA*0*000000902")),
    ),
}


def broken_messages() -> dict[tuple[str, str], str]:
    """Return every broken interchange by the name of the valid message and the flaw."""
    messages = {}
    for name, mutations in MUTATIONS.items():
        for mutation in mutations:
            valid = acknowledgment() if name == "TA1" else valid_message(name)
            broken = mutation.change(list(valid))
            assert broken != valid, f"{name}: {mutation.flaw} changes nothing"
            assert (name, mutation.flaw) not in messages, f"{name}: {mutation.flaw} is listed twice"
            messages[name, mutation.flaw] = interchange(broken)
    return messages
