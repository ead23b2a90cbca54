"""Check the form of the decision records and the references to them."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "decisions"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
SECTIONS = ["Context", "Decision", "Consequences"]
STATUS = re.compile(r"accepted|superseded by \[(\d{4})\]\((\1-[a-z0-9-]+\.md)\)")
ROW = re.compile(r"^\| \[(\d{4})\]\(([^)]+)\) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
FILE = re.compile(r"`((?:src|scripts|tests|[a-z_]+)/[\w./-]+\.(?:py|yml))`")
BASES = [ROOT, ROOT / "src" / "clerkship", ROOT / "src" / "clerkship" / "simulators" / "files"]
MENTION = re.compile(r"docs/decisions/[\w./-]+\.md")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _status(page: Path) -> str:
    match = re.search(r"^- Status: (.+)$", _read(page), re.MULTILINE)
    assert match is not None, f"{page.name} has no status"
    return match[1]


def test_decisions_have_number_title_and_date() -> None:
    wrong = []
    for page in PAGES:
        name = re.fullmatch(r"(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md", page.name)
        head = name and rf"# {name[1]}: \S.*\n\n- Number: {name[1]}\n- Date: 20\d\d-[01]\d-[0-3]\d\n- Status: "
        if head is None or not re.match(head, _read(page)):
            wrong.append(page.name)
    assert wrong == [], "expected NNNN-short-title.md that starts with its title, number, date and status"


def test_decisions_are_accepted_or_superseded_by_an_existing_decision() -> None:
    wrong = []
    for page in PAGES:
        status = STATUS.fullmatch(_status(page))
        if status is None or not (status[2] is None or (FOLDER / status[2]).exists()):
            wrong.append((page.name, _status(page)))
    assert wrong == [], "expected accepted or superseded by [NNNN](NNNN-….md)"


def test_decisions_have_context_decision_and_consequences_with_text() -> None:
    parts = {page.name: re.split(r"^## (.+)\n", _read(page), flags=re.MULTILINE) for page in PAGES}
    assert {name: found[1::2] for name, found in parts.items() if found[1::2] != SECTIONS} == {}
    assert [name for name, found in parts.items() if not all(text.strip() for text in found[2::2])] == []


def test_every_file_named_in_a_decision_exists() -> None:
    missing = [
        (page.name, name)
        for page in PAGES
        for name in FILE.findall(_read(page))
        if not any((base / name).exists() for base in BASES)
    ]
    assert missing == []


def test_numbers_of_decisions_are_unique_and_without_gaps() -> None:
    assert [page.name[:4] for page in PAGES] == [f"{number:04}" for number in range(1, len(PAGES) + 1)]


def test_readme_lists_every_decision_with_its_title_and_status() -> None:
    listed = {
        name: (number, title, status) for number, name, title, status, _ in ROW.findall(_read(FOLDER / "README.md"))
    }
    expected = {}
    for page in PAGES:
        number, _, title = _read(page).splitlines()[0].removeprefix("# ").partition(": ")
        expected[page.name] = (number, title, _status(page))
    assert listed == expected


def test_every_decision_mentioned_in_code_exists() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "scripts").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    missing = [
        f"{source.relative_to(ROOT)}: {target}"
        for source in sources
        for target in MENTION.findall(_read(source))
        if not (ROOT / target).exists()
    ]
    assert missing == []


def test_code_refers_to_every_decision() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]
    mentioned = {target for source in sources for target in MENTION.findall(_read(source))}
    assert [page.name for page in PAGES if f"docs/decisions/{page.name}" not in mentioned] == []


def test_reference_index_lists_every_page() -> None:
    folder = ROOT / "docs" / "reference"
    index = _read(folder / "README.md")
    assert [
        page.name for page in folder.glob("*.md") if page.name != "README.md" and f"({page.name})" not in index
    ] == []
