"""Every `MAX_…` and `MIN_…` is of a kind that docs/security.md lists with those whom it stands against."""

import re
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import clerkship

ROOT = Path(clerkship.__file__).parent
PAGE = Path(__file__).parent.parent / "docs" / "security.md"
CONSTANT = re.compile(r"^\s*(_?(?:MAX|MIN)_[A-Z_0-9]+) *[:=]", re.MULTILINE)
ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| (`[^|]+`) \| (\d+) \|$", re.MULTILINE)


def test_every_limit_is_of_a_kind_that_the_security_page_lists() -> None:
    """A limit against nobody in particular makes code and tests longer, and refuses what some agent needs."""
    rows = [(kind, re.findall(r"`([^`]+)`", places), int(most)) for kind, places, most in ROW.findall(PAGE.read_text())]
    counts: Counter[str] = Counter()
    for path in ROOT.rglob("*.py"):
        for name in CONSTANT.findall(path.read_text(encoding="utf-8")):
            limit = f"{path.relative_to(ROOT).as_posix()}:{name}"
            kinds = [kind for kind, places, _ in rows if any(_is_at(limit, place) for place in places)]
            assert kinds, f"{limit} is of no kind in docs/security.md: add its place to the table there, or remove it"
            counts[kinds[0]] += 1
    assert rows
    grown = {kind: counts[kind] for kind, _, most in rows if counts[kind] > most}
    assert grown == {}, "more limits than docs/security.md states: say there whom the new one stands against"


def _is_at(limit: str, place: str) -> bool:
    return fnmatchcase(limit, place) or fnmatchcase(limit, f"{place}:*")
