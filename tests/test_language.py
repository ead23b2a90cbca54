"""The language of the project: class names, banned phrases, docstrings of public functions, and the glossary."""

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clerkship.report.outcome import OUTCOMES

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "clerkship"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if "demo" not in path.parts)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The texts of prompts are part of the keys of recorded answers, so they do not change for their style.
PAGES.remove(ROOT / "docs" / "reference" / "prompts.md")
PAGES += sorted((ROOT / "examples").rglob("*.md")) + sorted((ROOT / "suites").rglob("*.md"))

# Phrases, not words: each of them has a plain equivalent, and none has another use in this project.
BANNED_PHRASES = (
    "what is no answer",
    "now so, now so",
    "another turn than the recording",
    "nobody's reading",
    "somebody's hand",
    "a stranger's",
    "what came of it",
    "what comes of it",
    "what becomes of it",
    "what was made of it",
    "take down what",
    "taken down",
    "takes down",
    "takes it down",
    "words and deeds",
    "deeds and words",
    "in the way of requests",
    "through either door",
    "the only door",
    "at the door",
    "behind the door",
    "the house",
    "nobody can say",
    "nobody knows",
    "nobody is asked",
    "nobody was asked",
    "asks nobody",
    "whoever",
    "whomever",
    "falls out of their role",
    "fell out of their role",
    "is held against",
    "holds against",
    "to be had",
    "made anew",
    "told apart by",
    "in two minds",
    "comes to its end",
    "came to their end",
    "for nobody",
    "of one mind",
)
_BANNED = re.compile("|".join(rf"\b{re.escape(phrase)}" for phrase in BANNED_PHRASES), re.IGNORECASE)
# Personification of callers, clients and agents. Plain text for users may say "somebody" of a real person.
_BANNED_IN_DOCSTRINGS = re.compile(r"\b(somebody|somebody's|whoever|nobody's)\b", re.IGNORECASE)


_BETWEEN_PARTS = re.compile(r"""["']\s*\n\s*[rfb]{0,2}["']""")
"""What is between two parts of a text that Python joins."""


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _modules_with(pattern: re.Pattern[str]) -> list[Path]:
    """Return the modules whose text has a match. To parse all modules takes seconds, and hundreds of megabytes."""
    return [path for path in MODULES if pattern.search(_BETWEEN_PARTS.sub("", _read(path)))]


def _nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(_read(path)))


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of a module, with their lines; those below constants and fields too."""
    for node in _nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def _comments(path: Path, phrases: "re.Pattern[str]") -> Iterator[tuple[int, str]]:
    """Yield the comments of a module, with their lines; none if no line has one of the phrases after a `#`."""
    text = _read(path)
    if not any(phrases.search(line, line.find("#")) for line in text.splitlines() if "#" in line):
        return  # to tokenize all modules takes seconds
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    for node in _nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


_CLASS = re.compile(r"^[ \t]*class (\w+)", re.MULTILINE)
_OLD_LIMIT = re.compile(r"\b_?(MOST|LONGEST|LARGEST|DEEPEST|BIGGEST)(_|\b)")


def test_class_names_are_unique() -> None:
    written = Counter(name for path in MODULES for name in _CLASS.findall(_read(path)))
    twice = {name for name, count in written.items() if count > 1}
    modules: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in _nodes(path) if not twice.isdisjoint(_CLASS.findall(_read(path))) else ():
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(f"{_name(path)}:{node.lineno}")
    assert len(written) > 1000
    assert {name: places for name, places in modules.items() if len(places) > 1} == {}


def test_limits_are_named_max() -> None:
    names = [
        f"{_name(path)}:{node.lineno} {node.id}"
        for path in _modules_with(_OLD_LIMIT)
        for node in _nodes(path)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and _OLD_LIMIT.match(node.id)
    ]
    assert names == []


def test_source_has_no_banned_phrases() -> None:
    texts = [
        (path, line, text)
        for path in _modules_with(_BANNED)
        for line, text in (*_strings(path), *_comments(path, _BANNED))
    ]
    found = {f"{_name(path)}:{line}: {match[0]}" for path, line, text in texts if (match := _BANNED.search(text))}
    assert sorted(found) == []


def test_docstrings_and_comments_have_no_personification() -> None:
    phrases = _BANNED_IN_DOCSTRINGS
    texts = [
        (path, line, text)
        for path in _modules_with(phrases)
        for line, text in (*_docstrings(path), *_comments(path, phrases))
    ]
    found = [f"{_name(path)}:{line}: {text[:80]}" for path, line, text in texts if phrases.search(text)]
    assert found == []


def test_pages_have_no_banned_phrases() -> None:
    found = [
        f"{_name(page)}:{number}: {match[0]}"
        for page in PAGES
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if (match := _BANNED.search(line))
    ]
    assert found == []


_PUBLIC = re.compile(r"^(?:async def|def|class) (?!_)", re.MULTILINE)
_DOCUMENTED = re.compile(
    r"^(?:async def|def|class) (?!_)"
    r"(?:[^\n]*|[^\n]*[(\[]\n(?:(?: {4}[^\n]*|\)[^\n:]*\()\n)*[)\]][^\n]*)"  # on one line, or on several
    r':\n {4}r?"""',
    re.MULTILINE,
)


def test_public_functions_and_classes_have_docstrings() -> None:
    doubtful = [path for path in MODULES if len(_PUBLIC.findall(_read(path))) != len(_DOCUMENTED.findall(_read(path)))]
    missing = [
        f"{_name(path)}:{node.lineno} {node.name}"
        for path in doubtful
        for node in ast.parse(_read(path)).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
    ]
    assert missing == []


def _glossary() -> set[str]:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    return {term.strip("`").lower() for term in re.findall(r"^\| ([^|]+?) \|", text, re.MULTILINE)}


PROPER_NAMES = {"fhir eligibility requests", "fhir r4", "hl7 v2", "x12", "pytest", "reference", "files", "conftest"}


def _terms_of_reference() -> Iterator[str]:
    """Yield the titles of its pages, the parts of YAML files, the fields of events, and the commands on runs."""
    read = {path.name: _read(path) for path in sorted((ROOT / "docs" / "reference").glob("*.md"))}
    pages = {name: text for name, text in read.items() if text.startswith("<!-- Generated")}
    for text in pages.values():
        yield from re.findall(r"^# (.+)$", text, re.MULTILINE)
    yield from re.findall(r"^## ([a-z]+)(?:$|, of type)", pages["files.md"], re.MULTILINE)
    yield from re.findall(r"^\| `(actor|cause|kind|source)` \|", pages["events.md"], re.MULTILINE)
    yield from re.findall(r"^\| `(weight|axis|gate|assertion)` \|", pages["files.md"], re.MULTILINE)
    yield from re.findall(r"^## clerkship (resume|rerun|rescore|fork)$", pages["commands.md"], re.MULTILINE)


def test_glossary_covers_the_terms_of_the_reference() -> None:
    glossary = _glossary()
    terms = {term.lower() for term in _terms_of_reference()} - PROPER_NAMES
    assert len(terms) > 25
    assert sorted(term for term in terms if term not in glossary and term.removesuffix("s") not in glossary) == []


def test_glossary_defines_every_verdict_and_status() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").lower()
    assert [name for name, (words, _) in OUTCOMES.items() if words.lower() not in text] == []


def test_every_guide_links_to_the_glossary() -> None:
    guides = sorted((ROOT / "docs" / "guide").glob("*.md"))
    assert guides
    assert [guide.name for guide in guides if "(../glossary.md)" not in guide.read_text(encoding="utf-8")] == []
