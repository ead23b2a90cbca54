"""The documentation site: every page is in the index and the navigation, links lead to its pages, commands exist."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from clerkship.cli.app import run
from clerkship.cli.commands import COMMANDS, GroupEntry
from clerkship.engine.catalog import build_catalog_without_plugins
from scripts.site import (
    BLOCK,
    HOME,
    INDEX,
    LINK,
    Nav,
    build_nav,
    collect_pages,
    find_links,
    find_mistakes,
    get_site_path,
    read,
    render,
    render_list,
)
from tests.command_server import get_command_path

ROOT = Path(__file__).parent.parent
PAGES = [page for page in collect_pages() if page.endswith(".md")]
OF_DOCS = {page for page in PAGES if page.startswith("docs/")}
SHELL_BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
IN_CHECKOUT = re.compile(r"^(?:pip install uv && )?uv run (?:--extra \w+ )*")
INLINE_COMMAND = re.compile(r"`(clerkship [a-z][^`]*)`")
SIGNED_LINE = "clerkship published version"
CODE = re.compile(r"`([^`]+)`")
MODEL_PAGE = ROOT / "docs" / "guide" / "write_tasks_with_a_model.md"
MAX_MODEL_PAGE_TOKENS = 6_000
CHARACTERS_PER_TOKEN = 3.3
"""Fewer than tokenizers of models have for YAML and code, so that the count is not too low."""
ENDS_OF_COMMANDS = {"&&", "|", ">", "2>", "&", ";", "<"}


def _flatten(nav: Nav) -> Iterator[str]:
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            (below,) = entry.values()
            yield from [below] if isinstance(below, str) else _flatten(below)


def test_every_page_is_in_the_navigation_once() -> None:
    paths = [*_flatten(build_nav())]
    assert {get_site_path(page) for page in OF_DOCS} - {*paths} == set(), "add a row to docs/README.md"
    assert len(paths) == len({*paths})
    assert {*paths} <= {get_site_path(page) for page in PAGES}


def test_list_for_models_leads_to_pages_of_the_site() -> None:
    linked = re.findall(r"\]\(([^)]+)\.html\)", render_list())
    assert {f"{path}.md" for path in linked} - {get_site_path(page) for page in PAGES} == set()
    assert f"guide/{MODEL_PAGE.stem}" in linked


def test_page_for_models_is_short() -> None:
    text = MODEL_PAGE.read_text(encoding="utf-8")
    words_and_signs = len(re.findall(r"\w+|[^\w\s]", text))
    assert max(words_and_signs, len(text) / CHARACTERS_PER_TOKEN) <= MAX_MODEL_PAGE_TOKENS


def test_names_on_the_page_for_models_exist() -> None:
    catalog, wrong = build_catalog_without_plugins(), []
    rows = re.findall(r"^\| `(\w+)` \|[^|]+\|([^|]+)\|([^|]+)\|([^|]+)\|$", MODEL_PAGE.read_text(), re.MULTILINE)
    for kind, methods, steps, assertions in rows:
        handle = catalog.simulator(kind).handle
        wrong += [f"{kind}: {name}" for name in CODE.findall(methods) if not hasattr(handle, name)]
        wrong += [f"{kind}: {name}" for name in CODE.findall(steps) if name not in catalog.steps]
        wrong += [f"{kind}: {name}" for name in CODE.findall(assertions) if name not in catalog.assertions]
    assert len(rows) == 9
    assert wrong == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, waiting = set[str](), [INDEX]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            waiting += [target for target, _ in find_links(page) if target]
    assert OF_DOCS - reached == set()


def test_no_two_files_become_one_page() -> None:
    pages = collect_pages()
    assert len({get_site_path(page) for page in pages}) == len(pages)


def test_links_of_pages_lead_to_pages_of_the_site() -> None:
    known = {get_site_path(page) for page in collect_pages()}
    dead = []
    for page in PAGES:
        here = Path(get_site_path(page)).parent
        for target, _ in LINK.findall(BLOCK.sub("", render(page))):
            if target and os.path.normpath(here / target) not in known:
                dead.append(f"{page} links to {target}")
    assert dead == []


def test_files_named_by_code_blocks_are_titles() -> None:
    assert '```yaml title="suite/flaky.yml"\nenvironment:' in render("docs/guide/break_things.md")


def test_home_page_shows_the_report_in_place_of_its_picture() -> None:
    assert "](report.png)" in read(HOME)
    assert "](report.png)" not in render(HOME)
    assert '<iframe class="report" src="demo/report.html#failed"' in render(HOME)


def test_dead_links_and_outside_resources_of_built_pages_are_found(tmp_path: Path) -> None:
    for name in ("404.html", "demo/report.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('<a href="nowhere.html">')
    (tmp_path / "a.html").write_text(
        '<h2 id="here"><a href="#here"><a href="a.html#gone"><a href="https://example.org">'
    )
    (tmp_path / "b.html").write_text('<script src="https://example.org/x.js"></script><img alt="" src=c.png>')
    assert [*find_mistakes(tmp_path)] == [
        "a.html links to a.html#gone, which has no such heading",
        "b.html links to c.png, which does not exist",
        "b.html loads https://example.org/x.js",
    ]


def test_commands_on_pages_exist_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    helps: dict[tuple[str, ...], str] = {}
    wrong = []
    for page, line in _find_commands():
        words = shlex.split(line, comments=True)
        words = [*takewhile(lambda word: word not in ENDS_OF_COMMANDS, words[words.index("clerkship") + 1 :])]
        name = tuple(words[: 2 if words and isinstance(COMMANDS.get(words[0]), GroupEntry) else 1])
        if name not in helps:
            helps[name] = capsys.readouterr().out if run([*name, "--help"]) == 0 else ""
        options = [word.partition("=")[0] for word in words if re.match(r"-{1,2}[a-z]", word)]
        known = {*re.findall(r"-{1,2}[\w-]+", helps[name])}
        if not helps[name] or not known.issuperset(options):
            wrong.append(f"{page}: {line}")
    assert len(helps) > 30
    assert wrong == []


def _find_commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        if page == "CHANGELOG.md":  # it names commands of the past
            continue
        for text in INLINE_COMMAND.findall(BLOCK.sub("", read(page))):
            if text != SIGNED_LINE:
                yield page, " ".join(text.split())
        for block in SHELL_BLOCK.findall(read(page)):
            for line in block.replace("\\\n", " ").splitlines():
                if re.match(
                    r"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:pip install uv && )?(?:uv run (?:--\S+ \S+ )*)?clerkship ", line
                ):
                    yield page, line


@pytest.mark.slow
def test_commands_of_the_home_page_run(tmp_path: Path) -> None:
    (tmp_path / "suites").symlink_to(ROOT / "suites")
    lines = [line for block in SHELL_BLOCK.findall(read(HOME)) for line in block.splitlines()]
    assert len(lines) == 2
    for line in lines:
        words = shlex.split(IN_CHECKOUT.sub("", line))
        environment = os.environ | {"PATH": get_command_path()}
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


@pytest.mark.slow
def test_site_is_built(tmp_path: Path) -> None:
    command = [
        "uv",
        "run",
        "--quiet",
        "--group",
        "site",
        "--extra",
        "fax",
        "python",
        "-m",
        "scripts.site",
        str(tmp_path / "site"),
    ]
    environment = os.environ | {"UV_PROJECT_ENVIRONMENT": str(ROOT / ".cache" / "site_environment")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "html" / "guide" / "first_run.html").is_file()
