"""What the project writes and a judge refuses: the disputed part, why we write it, and what the judge would accept."""

import re
from typing import NamedTuple

from tests.clients.x12_judges.judges import JudgeName


class Dispute(NamedTuple):
    """A part of a message that a judge refuses. With the replacement instead, it accepts the message."""

    judge: JudgeName
    reason: str
    disputed: re.Pattern[str]
    replacement: str

    def settle(self, text: str) -> str:
        """Return the message as the judge would have it."""
        return SET.sub(count_segments, self.disputed.sub(self.replacement, text))


SET = re.compile(r"~ST\*.*?~SE\*\d+")


def count_segments(found: re.Match[str]) -> str:
    """Return a set from ST to SE01 with the number of its segments in SE01."""
    start, _, _ = found[0].rpartition("*")
    return f"{start}*{start.count('~')}"


DISPUTES = (
    Dispute(
        "linuxforhealth-x12",
        "It takes EB09, the qualifier of a quantity, for a number. X12 has a code there, such as VS for visits.",
        re.compile(r"(~EB(?:\*[^*~]*){8})\*[A-Z]\w(?=[*~])"),
        r"\1*1",
    ),
    Dispute(
        "linuxforhealth-x12",
        "It requires EB03. X12 leaves EB03 out where EB13 names a procedure: the two exclude each other.",
        re.compile(r"(~EB\*\w+\*\w*\*)(?=\*[^~]*\*HC:)"),
        r"\g<1>30",
    ),
    Dispute(
        "linuxforhealth-x12",
        "It checks AAA03 of a subscriber or dependent against the list for providers, so that no answer can say that a "
        "member was not found (75) or that a birth date does not match (71).",
        re.compile(r"(~NM1\*(?:IL|03)\*[^~]*~AAA\*[NY]\*\*)(?!15)\d\d"),
        r"\g<1>15",
    ),
    Dispute(
        "linuxforhealth-x12",
        "It keeps only the last service of a claim in a 277 (loop 2220D), and then counts fewer segments than SE01 "
        "states.",
        re.compile(r"~SVC\*[^~]*(?:~(?:STC|REF|DTP)\*[^~]*)*(?=~SVC\*)"),
        "",
    ),
    Dispute(
        "pyx12",
        "HCR01 C, cancelled, is new in 5010. pyx12 has the codes of 4010.",
        re.compile(r"(~HCR\*)C(?=[*~])"),
        r"\1A3",
    ),
    Dispute(
        "pyx12",
        "A payer may ask for a correction or a repetition (AAA04 C, R) in 5010. In 4010 it could only refuse or wait.",
        re.compile(r"(~NM1\*X3\*[^~]*~AAA\*[NY]\*\*\w\w\*)[CR]"),
        r"\1N",
    ),
)


def settle_all(judge: JudgeName, text: str) -> str:
    """Return a message with everything that the judge disputes replaced."""
    for dispute in DISPUTES:
        if dispute.judge == judge:
            text = dispute.settle(text)
    return text
