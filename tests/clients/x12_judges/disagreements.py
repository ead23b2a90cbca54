"""Broken messages on which the project and a judge disagree, with the reason."""

from typing import Literal, NamedTuple

from tests.clients.x12_judges.judges import JudgeName

RefusedBy = Literal["judge", "clerkship"]


class Disagreement(NamedTuple):
    """Messages that only one side refuses, all for the same reason."""

    judge: JudgeName
    refused_by: RefusedBy
    reason: str
    cases: dict[str, tuple[str, ...]]
    """The flaws and changes of each valid message, by its name."""


DISAGREEMENTS = (
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "It does not read ISA, GS, GE and IEA, and does not compare ST02 with SE02.",
        {
            "270": (
                "IEA01 counts too many groups",
                "IEA02 differs from ISA13",
                "GE01 counts too many sets",
                "GE02 differs from GS06",
                "SE02 differs from ST02",
                "GE is missing",
                "IEA is missing",
                "GS is missing",
            ),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "It does not check the order of segments within a loop.",
        {
            "276": (
                "AMT precedes REF",
                "AMT*T3 comes one segment earlier",
                "DTP*472 comes one segment earlier",
            ),
            "270": ("DTP*291 comes one segment earlier",),
            "270 for a dependent": (
                "INS*N comes one segment earlier",
                "DTP*291 comes one segment earlier",
            ),
            "271": ("DTP*346 comes one segment earlier",),
            "277": (
                "REF*1K comes one segment earlier",
                "DTP*472 comes one segment earlier",
            ),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "It checks a date only if it has as many characters as a date, and never a time.",
        {
            "270": (
                "BHT05 is no time",
                "DTP03 is no date",
                "BHT*0022 5 is wrong",
            ),
            "270 for a dependent": ("BHT*0022 5 is wrong",),
            "271": ("BHT*0022 5 is wrong",),
            "271 that rejects the provider": ("BHT*0022 5 is wrong",),
            "276": ("BHT*0010 5 is wrong",),
            "277": ("BHT*0010 5 is wrong",),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "It does not count how often AAA and REF occur.",
        {
            "271 that rejects the provider": ("AAA stands ten times",),
            "276": ("REF*EJ stands twice",),
            "277": ("REF*1K stands twice",),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "It does not require an LE after LS.",
        {"271": ("LS has no LE",)},
    ),
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "It drops empty elements at the end of a segment.",
        {
            "270": ("a segment ends in empty elements",),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "It does not notice a level below one that states none (HL04 0).",
        {
            "270 for a dependent": ("HL04 promises no child, and one follows",),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "It accepts an inquiry that asks nothing. The patient's level needs an EQ.",
        {
            "270": ("EQ*30 is missing",),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "In 276 and 277 it does not check the numbers of levels.",
        {
            "276": (
                "HL*1 1 is wrong",
                "HL*2 1 is wrong",
                "HL*2 2 is wrong",
                "HL*3 2 is wrong",
                "HL*4 1 is wrong",
            ),
            "277": (
                "HL*1 1 is wrong",
                "HL*2 1 is wrong",
                "HL*2 2 is wrong",
                "HL*3 2 is wrong",
                "HL*4 1 is wrong",
            ),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "In a 277 it requires neither an STC for each claim, nor a status code in it, nor BHT06.",
        {
            "277": (
                "STC is missing",
                "STC01 has one component",
                "BHT06 is an unknown code",
                "BHT*0010 6 is empty",
                "BHT*0010 6 is wrong",
                "TRN*2 stands twice",
                "STC*F1:65 is missing",
                "STC*F1:65 1 is wrong",
            ),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "clerkship",
        "In 270 and 271 it does not check NM108 of a subscriber and TRN01.",
        {
            "270": (
                "TRN01 is that of an answer",
                "TRN*1 1 is wrong",
                "NM1*IL 8 is wrong",
            ),
            "270 for a dependent": (
                "NM1*IL 8 is wrong",
                "TRN*1 1 is wrong",
            ),
            "271": (
                "TRN*2 1 is wrong",
                "NM1*IL 8 is wrong",
            ),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "judge",
        "It requires BHT03 in 270 and 271. It is situational, as in pyx12's maps of 4010.",
        {
            "270": ("BHT*0022 3 is empty",),
            "270 for a dependent": ("BHT*0022 3 is empty",),
            "271": ("BHT*0022 3 is empty",),
            "271 that rejects the provider": ("BHT*0022 3 is empty",),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "judge",
        "It requires a name of every party (NM103). It is situational where pyx12's maps say so too.",
        {
            "270": (
                "NM1*PR 3 is empty",
                "NM1*1P 3 is empty",
            ),
            "270 for a dependent": (
                "NM1*PR 3 is empty",
                "NM1*1P 3 is empty",
                "NM1*03 3 is empty",
            ),
            "271": (
                "NM1*PR 3 is empty",
                "NM1*1P 3 is empty",
            ),
            "271 that rejects the provider": (
                "NM1*PR 3 is empty",
                "NM1*1P 3 is empty",
            ),
            "276": ("NM1*41 3 is empty",),
            "277": ("NM1*41 3 is empty",),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "judge",
        "It requires the first name of a patient. It is situational: a payer can also search without it.",
        {
            "270": ("NM1*IL 4 is empty",),
            "270 for a dependent": ("NM1*03 4 is empty",),
            "271": ("NM1*IL 4 is empty",),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "judge",
        "It accepts one date of a subscriber or dependent in a 270; there may be two.",
        {
            "270": ("DTP*291 stands twice",),
            "270 for a dependent": ("DTP*291 stands twice",),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "judge",
        "It fails on a second EQ. An inquiry may ask up to 99 questions.",
        {
            "270": ("EQ*30 stands twice",),
            "270 for a dependent": ("EQ*98 stands twice",),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "judge",
        "It requires EB03. A benefit may name a procedure instead, or be that of the whole plan.",
        {
            "271": (
                "EB*1 3 is empty",
                "EB*C 3 is empty",
                "EB*B 3 is empty",
                "EB*A 3 is empty",
            ),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "judge",
        "It has a fixed list of service types. X12 adds to the list between guides. A payer that does not know a type "
        "rejects it with AAA.",
        {
            "270": ("EQ*30 1 is wrong",),
            "270 for a dependent": ("EQ*98 1 is wrong",),
            "271": (
                "EB*1 3 is wrong",
                "EB*C 3 is wrong",
                "EB*B 3 is wrong",
                "EB*A 3 is wrong",
            ),
        },
    ),
    Disagreement(
        "linuxforhealth-x12",
        "judge",
        "It accepts one name of the provider in 276 and 277; there may be two (loop 2100C).",
        {
            "276": ("NM1*1P stands twice",),
            "277": ("NM1*1P stands twice",),
        },
    ),
    Disagreement(
        "pyx12",
        "judge",
        "It knows a list of sets that can be acknowledged. A 999 must also report a set with a wrong code.",
        {
            "999": ("AK2*270 1 is wrong",),
            "999 that rejects": ("AK2*278 1 is wrong",),
        },
    ),
    Disagreement(
        "pyx12",
        "judge",
        "It knows the forms of CTX and where each may stand. Clerkship checks that a CTX is not empty.",
        {
            "999 that rejects": (
                "CTX*TRN02:PA1E stands twice",
                "CTX*TRN02:PA1E 1 is wrong",
                "IK4*9 comes one segment earlier",
            ),
        },
    ),
    Disagreement(
        "pyx12",
        "clerkship",
        "It does not require an IK5 for every AK2.",
        {
            "999": ("AK2*270 stands twice",),
            "999 that rejects": ("AK2*278 stands twice",),
        },
    ),
    Disagreement(
        "pyx12",
        "clerkship",
        "It does not require IK304, the error of a segment.",
        {
            "999 that rejects": ("IK3*NM1 4 is empty",),
        },
    ),
)
