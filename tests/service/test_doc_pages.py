"""The pages that `clerkship docs` prints, and the messages that name them."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from clerkship.model.errors import InputError
from clerkship.service.doc_pages import PAGES, SECTIONS, find_page, find_pages, read_page, read_title

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "clerkship"
NAMED_PAGE = re.compile(r"clerkship docs ([a-z_/]+)")
PAGE_OF_A_CHECKOUT = re.compile(r"\bdocs/(guide|reference|decisions)\b|\b(guide|reference)/\w+\.md\b")


def list_texts() -> Iterator[tuple[str, str]]:
    """Yield the texts that users may see, with their files: constants but docstrings, and templates."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not NAMED_PAGE.search(text) and not PAGE_OF_A_CHECKOUT.search(text):
            continue
        tree = ast.parse(text)
        documented = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        ignored = {id(node.value) for node in documented}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in ignored:
                yield path.name, node.value
    for path in sorted((SOURCE / "service" / "templates").rglob("*")):
        if path.is_file():
            yield path.name, path.read_text(encoding="utf-8")


def test_pages_that_messages_name_are_in_every_wheel() -> None:
    named = {(file, name) for file, text in list_texts() for name in NAMED_PAGE.findall(text)}
    assert len(named) >= 2
    assert [(file, name) for file, name in named if not is_page(name)] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    carried = {f"docs/{part}": f"clerkship/docs/{part}" for part in (*SECTIONS, *PAGES)}
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"] == carried
    assert {f"/{part}" for part in carried} <= {*project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}


def is_page(name: str) -> bool:
    try:
        return find_page(name).is_file()
    except InputError:
        return False


def test_messages_name_no_file_of_a_checkout() -> None:
    found = [(file, match[0]) for file, text in list_texts() for match in PAGE_OF_A_CHECKOUT.finditer(text)]
    assert found == []


@pytest.mark.parametrize("name", ["guide/fax", "fax", "docs/guide/fax.md", "fax.md"])
def test_page_has_a_full_and_a_short_name(name: str) -> None:
    assert find_page(name) == find_pages()["guide/fax"]
    assert read_title(find_page("reference/fax")) == "Fax"
    assert read_page(find_page("reference/fax")).startswith("# Fax\n")


def test_unknown_page_is_an_error_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"there is no page `write_task`; did you mean `write_a_task`\?"):
        find_page("write_task")
