"""Read which policies and versions a text names, in any spelling, and which of them it sets aside.

A policy is named by its id (`CM RAD 14`) or, if no other has it, by the number of the id (`policy 014`). A version is
named by its number or by the day on which it took effect, and belongs to the policy that is named just before it, or
after it with `of`. What a text says to be superseded, outranked or not in force is set aside.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from clerkship.payer.policies.policy import Policy
from clerkship.text.dates import find_dates
from clerkship.text.folding import fold

MAX_GAP = 60
"""Characters between a policy and a version that it does not have, such as a misread one."""
_PART = re.compile(r"[A-Z]+|\d+")
_KIND_WORD = r"(?:policy|policies|document|guideline|guide|rule)\W{1,3}(?:(?:no|nr|number)\W{1,3})?#?"
_LABEL = re.compile(r"\b(?:version|vers?|v|edition|revision|rev)\W{0,3}(?:(?:no|number)\W{1,3})?(?P<number>\d[\w.-]*)")
_DAY_LABEL = re.compile(r"\b(?:effective|in force|in effect|version of|dated)\b(?: \w{2,5}){0,2}\W{0,3}$")
_OF = re.compile(r"\W*(?:of|for|in|from)\b(?: (?:the|our|medical|plan|policy|document|guideline)){0,4}\W*")
_FULL_STOP = re.compile(r"[.!?;]\s")
_SENTENCE_END = re.compile(r"[.!?;]\s|\n")
_NEXT = "next"
"""Stands for the name that follows: `2026.1 replaced 2025.2` sets the second aside, not the first."""
_FILLERS = (
    r"(?:[\s:]+(?:the|our|its|under|policy|plan|medical|document|guideline|version|edition|in|of|from)){0,5}"
    r"[\s:(\"']*$"
)
_PASSIVE = r"(?:superseded|replaced|overridden|overruled|outranked)"
_ASIDE_BEFORE = re.compile(
    rf"\b(?:supersed(?:es|ing)|replac(?:es|ing)|overrid(?:es|ing)|overrules|outranks|prevails over|precedence over"
    rf"|instead of|rather than|not|{_PASSIVE}|old|older|former|previous|earlier|expired|retired|outdated|withdrawn)"
    rf"{_FILLERS}"
)
_LEAD = r"\W*(?:(?:which|that|has|now)\W+)*"
_ASIDE_AFTER = re.compile(
    rf"{_LEAD}(?:is|was|are|were|been)\W+(?:now |been )?{_PASSIVE}\b"
    rf"|\W*[(,:]\W*{_PASSIVE}\b|\W*{_PASSIVE}(?= by\b|\W*$)"
    rf"|{_LEAD}(?:(?:is|was|are|were|has)\W+)?(?:expired|retired|withdrawn|outdated|no longer|ended|gives? way|yields"
    r"|not (?:yet |the one|in force|in effect|effective|applicable)|(?:does|did|do) not (?:apply|decide|count))"
)


class PolicyCitation(NamedTuple):
    """A policy that a text names, with its version if that is named, too."""

    policy: str
    version: str | None
    """As the policy writes it, or as it is written if the policy has no such version."""
    excerpt: str
    is_set_aside: bool = False

    @property
    def name(self) -> str:
        return f"{self.policy} {self.version}" if self.version else self.policy


class _Mention(NamedTuple):
    start: int
    end: int
    policy: str = ""
    version: str = ""


class PolicyReader:
    """Finds the policies of a library in texts."""

    def __init__(self, policies: Sequence[Policy]) -> None:
        self._policies = {each.id: each for each in policies}
        parts = {each.id: _PART.findall(each.id) for each in policies}
        counts = Counter(int(each[-1]) for each in parts.values())
        self._patterns: list[tuple[str, re.Pattern[str]]] = []
        for id, own in parts.items():
            spelled = r"[\W_]{0,3}".join(f"0*{int(part)}" if part.isdigit() else part.lower() for part in own)
            short = rf"|\b{_KIND_WORD}0*{int(own[-1])}" if counts[int(own[-1])] == 1 else ""
            self._patterns.append((id, re.compile(rf"(?:(?<![^\W_]){spelled}{short})(?!\d|\.\d)")))
        numbers = {version.number for each in policies for version in each.versions if "." in version.number}
        any_number = "|".join(r"[.-]".join(map(re.escape, each.lower().split("."))) for each in sorted(numbers))
        self._numbers = re.compile(rf"(?<![\d.])(?:{any_number or r'(?!)'})(?!\d|[./-]\d)")

    def read(self, text: str) -> list[PolicyCitation]:
        """Return the policies and versions that a text names, in order."""
        plain = fold(text).lower()
        named = [_Mention(*match.span(), id) for id, pattern in self._patterns for match in pattern.finditer(plain)]
        named.sort()
        versions = sorted(self._find_versions(plain, named)) if named else []
        units = sorted(_join(plain, named, versions))
        afters = [f"{plain[one.end : other.start]}{_NEXT}" for one, other in pairwise(units)]
        afters += [plain[each.end :] for each in units[-1:]]
        starts = [0, *(each.end for each in units)]
        return [
            PolicyCitation(
                each.policy,
                each.version or None,
                " ".join(plain[max(0, each.start - 40) : each.end + 40].split()),
                _is_set_aside(plain[start : each.start], after),
            )
            for each, start, after in zip(units, starts, afters, strict=False)
        ]

    def _find_versions(self, plain: str, named: Sequence[_Mention]) -> Iterator[_Mention]:
        """Yield each mention of a version with the policy that it belongs to."""
        places = [(match.start(), *match.span("number")) for match in _LABEL.finditer(plain)]
        labelled = {first for _, first, _ in places}
        places += [
            (each.start(), *each.span()) for each in self._numbers.finditer(plain) if each.start() not in labelled
        ]
        for start, first, end in places:
            owner = _find_owner(plain, named, start, end)
            if any(each.start <= first < each.end for each in named):
                continue
            written = plain[first:end].rstrip(".-")
            known = {each.number.lower(): each.number for each in self._policies[owner.policy].versions}
            number = known.get(written) or known.get(re.sub(r"[-_]", ".", written), "")
            gap = plain[owner.end : start]
            if number or (len(gap) <= MAX_GAP and not _FULL_STOP.search(gap)):
                yield _Mention(start, first + len(written), owner.policy, number or written)
        for day in find_dates(plain):
            label = _DAY_LABEL.search(plain[max(0, day.start - 40) : day.start])
            if label is None:
                continue
            owner = _find_owner(plain, named, day.start, day.end)
            for version in self._policies[owner.policy].versions:
                if version.effective in day.readings:
                    yield _Mention(day.start - len(label[0]), day.end, owner.policy, version.number)


def _find_owner(plain: str, named: Sequence[_Mention], start: int, end: int) -> _Mention:
    """Return the policy to which a version belongs: the one after it with `of`, or the last one before it."""
    following = next((each for each in named if each.start >= end), None)
    if following is not None and _OF.fullmatch(plain[end : following.start]):
        return following
    return next((each for each in reversed(named) if each.start < start), named[0])


def _join(plain: str, named: Sequence[_Mention], versions: Sequence[_Mention]) -> Iterator[_Mention]:
    """Yield each policy joined with the version beside it, and what is named alone."""
    joined: set[_Mention] = set()
    for policy in named:
        beside = next((each for each in versions if each not in joined and _is_beside(plain, policy, each)), None)
        if beside is None:
            yield policy
        else:
            joined.add(beside)
            yield _Mention(min(policy.start, beside.start), max(policy.end, beside.end), policy.policy, beside.version)
    yield from (each for each in versions if each not in joined)


def _is_beside(plain: str, policy: _Mention, version: _Mention) -> bool:
    if policy.policy != version.policy:
        return False
    if version.start >= policy.end:
        gap = plain[policy.end : version.start]
        return len(gap) <= 25 and not re.search(r"\w", gap.replace("policy", "").replace("in its", ""))
    return version.end <= policy.start and _OF.fullmatch(plain[version.end : policy.start]) is not None


def _is_set_aside(before: str, after: str) -> bool:
    """Return whether the words before or after a name, in its sentence, say that it does not decide."""
    before = _SENTENCE_END.split(before)[-1]
    after = _SENTENCE_END.split(after, maxsplit=1)[0]
    return _ASIDE_BEFORE.search(before) is not None or _ASIDE_AFTER.match(after) is not None
