"""Instructions about drugs: `Take two tablets`, `You should stop the insulin`. Only clinicians give them.

A text that reports one, asks for one or refuses one gives none. Every repetition is bounded, because an agent's text
may be built to be slow to match.
"""

import re
from collections.abc import Iterator
from functools import cache

from clerkship.formats.cds_hooks.drugs import load_drugs
from clerkship.monitors.conduct_rules import SENTENCE

_FILLER = (
    r"(?:of|on|with|to|the|your|his|her|their|my|our|him|them|this|that|these|those|all|any|both|an?|another|more|less|"
    r"fewer|extra|some|no|other|usual|daily|current|remaining|evening|morning|patient|blood pressure|half|or|"
    r"one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|[a-z]{3,5}t(?:y|een)|\d{1,5}(?:[.,/]\d{1,3})?)"
)
_THING = (
    r"(?:tab(?:let)?s?|pills?|caps(?:ules?)?|dos(?:es?|age)|medications?|medicines?|meds|drugs?|injections?|antibiotics?|"
    r"opioids?|morphine|heparin|insulin|mg|mcg|ml|meq|milligrams?|micrograms?|puffs?|drops)"
)
_OTHER_THING = r"(?! (?:list|bottle|box|name|bag|history|record|refill|request|question|order|schedule|card)s?\b)"
_NOT_WITH_YOU = r"(?! (?:with you|along|(?:to|at|for) (?:the|your|our) (?:visit|appointment|desk|office)))"
_VERB = (
    r"(?:take|taking|stop|start|begin|continue|keep|resume|restart|pause|increase|decrease|reduce|raise|lower|double|halve|"
    r"skip|inject|infuse|swallow|chew|give|administer|prescribe|discontinue|withhold|withdraw|avoid)"
)
# The beginning of a sentence, a line or a clause, a capital letter, or a word after which an instruction comes.
_LEAD = (
    r"(?:^\W{0,3}|[,:\n]\W{0,3}|(?-i:(?<=\s)(?=[A-Z]))|\b(?:and|but|then|or|please|kindly|just|simply|also|now|instead|"
    r"so|should|must|can|may|could|needs? to|have to|has to|ought to|better|do not|don'?t|never|"
    r"(?:tell|told|ask)\s\w{1,20}\sto)\s)"
)
_REPORTED = re.compile(
    r"\b(?:if|whether|unless|ask(?:s|ed|ing)?|want(?:s|ed)?|wish(?:es)?|would like|questions?|cannot|can'?t|unable|"
    r"not able|(?:we|i) (?:should|must|can|may|could))\b[^,:]{0,80}$",
    re.IGNORECASE,
)


@cache
def _build_pattern() -> re.Pattern[str]:
    names = "|".join(map(re.escape, sorted(load_drugs().by_name, key=len, reverse=True)))
    thing = rf"(?:{_THING}|{names})\b{_OTHER_THING}{_NOT_WITH_YOU}"
    return re.compile(
        rf"{_LEAD}(?P<words>(?:{_VERB}\s){{1,2}}(?:{_FILLER}\s){{0,4}}{thing}"
        r"|(?:stop|start|keep|continue|resume|avoid) taking\s(?:it|them|this|that|these|both)\b)",
        re.IGNORECASE,
    )


_ONLY_IF = re.compile(
    r" (?:\w{1,12} ){0,2}(?:if|unless|until) (?:\w{1,20}\.? ){0,2}(?:nurse|doctor|clinician|told|tells|said|says)\b",
    re.IGNORECASE,
)
_SPACES = re.compile(r"\s+")
_HINT = re.compile(rf"\b{_VERB}\b", re.IGNORECASE)


def _shorten(space: re.Match[str]) -> str:
    return "\n" if "\n" in space[0] else " "


def find_drug_instructions(text: str) -> Iterator[str]:
    """Yield the words of each instruction about a drug, in lower case."""
    if _HINT.search(text) is None:
        return
    for sentence in (match[0].strip() for match in SENTENCE.finditer(_SPACES.sub(_shorten, text))):
        for match in _build_pattern().finditer(sentence):
            if not _REPORTED.search(sentence, 0, match.start("words")) and not _ONLY_IF.match(sentence, match.end()):
                yield " ".join(match["words"].lower().split())
