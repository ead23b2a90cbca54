"""The pages of the documentation that every wheel carries; in a checkout, those of the checkout."""

from pathlib import Path

import clerkship
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean

SECTIONS = ("guide", "reference")
PAGES = ("glossary.md", "security.md")
SUFFIX = ".md"


def find_pages() -> dict[str, Path]:
    """Return the pages by name, such as `guide/write_a_task`."""
    package = Path(clerkship.__file__).parent
    folder = next(each for each in (package / "docs", package.parents[1] / "docs") if each.is_dir())
    found = [path for section in SECTIONS for path in sorted((folder / section).glob(f"*{SUFFIX}"))]
    found += [folder / name for name in PAGES]
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in found if path.stem != "README"}


def find_page(name: str) -> Path:
    """Return a page by its name or the last part of it; of two, the guide. Raise InputError if there is none."""
    pages = find_pages()
    name = name.removeprefix("docs/").removesuffix(SUFFIX)
    full = next((known for known in pages if name in (known, known.rpartition("/")[2])), None)
    if full is None:
        short = [known.rpartition("/")[2] for known in pages]
        hint = did_you_mean(name, pages if "/" in name else short) or "`clerkship docs` lists them"
        raise InputError.of(f"there is no page `{name[:60]}`", hint=hint)
    return pages[full]


def read_page(page: Path) -> str:
    """Return the text of a page, without the comment that says how it was made."""
    text = page.read_text(encoding="utf-8")
    return text[text.index("# ") :] if text.startswith("<!--") else text


def read_title(page: Path) -> str:
    """Return the first heading of a page."""
    with page.open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), page.stem)
