"""The reference matches the code, and the examples in the documentation run."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.errors import InputError
from clerkship.suite_files.load import load_library
from clerkship.suite_files.yaml import parse_yaml
from scripts.reference.build import build_pages, find_stale_pages
from tests.command_server import get_command_path
from tests.report.browser import PROGRAM
from tests.waiting import wait_until

ROOT = Path(__file__).parent.parent
PROSE = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
PROSE += [*sorted((ROOT / "examples").rglob("*.md")), *sorted((ROOT / "suites").rglob("*.md"))]
GUIDES = sorted((ROOT / "docs" / "guide").glob("*.md"))
QUICK_GUIDES = {"first_run.md", "write_a_task.md", "write_an_agent.md"}
"""The guides whose examples `make test` runs. The others are left to `make test-all`."""
RASA_PORT = "5005"
"""Where a page has a Rasa server; whoever tests may have one there already."""
SERVER_PORT = "8720"
"""Where a page has a server of ours."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMED_BLOCK = re.compile(rf"(?:^`([^`\n]+)`:\n\n)?{BLOCK.pattern}", BLOCK.flags)
"""With the file that it is, where the line before says so: JSON has no comments to say it in."""


@pytest.mark.long
def test_reference_is_up_to_date() -> None:
    assert find_stale_pages() == [], "run `make docs`"


def test_every_name_is_in_the_reference() -> None:
    catalog, text = build_catalog_without_plugins(), "\n".join(build_pages().values())
    names = [*catalog.assertions, *catalog.steps, *catalog.simulators, *catalog.domains, *catalog.events]
    assert [name for name in names if f"`{name}`" not in text and f"## {name}\n" not in text] == []
    agents = {name: name.replace("_", "[-_]") for name in catalog.agents}
    assert [name for name, form in agents.items() if not re.search(rf"`(--agent )?\"?{form}[`:]", text)] == []


def _get_marks(page: Path) -> list[pytest.MarkDecorator]:
    no_browser = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")
    needed = [no_browser] if page.name == "browser_agent.md" else []
    return [*needed, pytest.mark.long if page.name in QUICK_GUIDES else pytest.mark.slow]


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name, marks=_get_marks(page)) for page in GUIDES])
def test_examples_in_guides_run(page: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"PYTHONPATH": str(tmp_path / "site")}
    here = tmp_path
    text = page.read_text(encoding="utf-8")
    if "cd examples" in text:  # "in a checkout": one of the test's own, which may be written to
        shutil.copytree(
            ROOT / "examples", here / "examples", ignore=shutil.ignore_patterns("__pycache__", ".clerkship")
        )
    for port in (RASA_PORT, SERVER_PORT):
        if port in text:
            text = text.replace(port, str(_free_port()))
    with ExitStack() as background:
        for name, language, body in NAMED_BLOCK.findall(text):
            first, _, rest = body.partition("\n")
            if name or first.startswith("# file: "):
                _write_file(here / (name or first.removeprefix("# file: ").strip()), body if name else rest)
            elif language == "sh":
                for line in body.splitlines():
                    if line.endswith(" &"):
                        background.enter_context(_in_background(line, here, environment))
                    else:
                        here = _run_line(line, here, environment | {"PATH": get_command_path()})


def test_folders_of_the_guide_on_phone_trees_validate_as_printed(tmp_path: Path) -> None:
    catalog, validated = build_catalog_without_plugins(), []
    text = (ROOT / "docs" / "guide" / "write_an_ivr.md").read_text(encoding="utf-8")
    for _, language, body in NAMED_BLOCK.findall(text):
        first, _, rest = body.partition("\n")
        if first.startswith("# file: "):
            _write_file(tmp_path / first.removeprefix("# file: "), rest)
        elif language == "sh":
            folders = re.findall(r"^clerkship validate (\w+)$", body, re.MULTILINE)
            validated += [(folder, len(load_library(tmp_path / folder, catalog).tasks)) for folder in folders]
    assert validated == [("payer_line", 1), ("imaging", 1)]


def _write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def _in_background(line: str, here: Path, environment: dict[str, str]) -> Iterator[None]:
    """Start `command > file &`, wait until it has written something, and interrupt it at the end of the page."""
    command, _, target = line.removesuffix(" &").rpartition(" > ")
    with (here / target).open("wb") as written:
        process = subprocess.Popen(shlex.split(command), cwd=here, env=environment, stdout=written)
    try:
        wait_until(lambda: (here / target).stat().st_size or process.poll() is not None, line)
        yield
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0, line
    finally:
        process.kill()
        process.wait(30)


def _run_line(line: str, here: Path, environment: dict[str, str]) -> Path:
    command, _, comment = line.partition("   # ")
    words = shlex.split(command)
    if words[0] == "cd":
        return here / words[1]
    if words[:2] == ["pip", "install"]:  # into a folder of the test's own, instead of what the tests run in
        words = ["uv", "pip", "install", "--quiet", "--no-deps", "--target", environment["PYTHONPATH"], *words[2:]]
    expected = int(comment.removeprefix("exits ")) if comment.startswith("exits ") else 0
    done = subprocess.run(words, cwd=here, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == expected, f"{line}\n{done.stdout}\n{done.stderr}"
    return here


def test_links_have_targets() -> None:
    missing = [
        f"{page.relative_to(ROOT)} links to {target}"
        for page in PROSE
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_yaml_and_json_of_pages_is_valid() -> None:
    wrong = []
    for page in PROSE:
        name = str(page.relative_to(ROOT))
        for language, body in BLOCK.findall(page.read_text(encoding="utf-8")):
            try:
                if language == "yaml":
                    parse_yaml(body, name)
                if language == "json":
                    _check_json(body)
            except (InputError, ValueError) as error:
                wrong.append(f"{name}: {error}\n{body}")
    assert wrong == []


def test_links_to_headings_have_targets() -> None:
    missing = []
    for page in PROSE:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            anchors = _anchors((page.parent / target).resolve() if target else page)
            if anchor not in anchors:
                missing.append(f"{page.relative_to(ROOT)} links to {target}#{anchor}; there are: {sorted(anchors)}")
    assert missing == []


@cache
def _anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _check_json(body: str) -> None:
    """Check that a block is JSON or JSON Lines."""
    try:
        json.loads(body)
    except json.JSONDecodeError:
        for line in body.splitlines():
            json.loads(line)


def test_files_name_no_package_index_and_no_local_path() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    ).stdout.split("\n")
    tracked = [ROOT / name for name in listed if name and (ROOT / name).is_file()]
    marks = re.compile(rb"/simple/|index-url\s*=|extra-index|/root/|/home/\w+/")
    found = [p.name for p in tracked if p.name != "test_docs.py" and marks.search(p.read_bytes())]
    assert found == []


def test_every_dependency_is_documented() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").lower()
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^dependencies = \[(.*?)\]", project, re.MULTILINE | re.DOTALL)
    assert block is not None
    names = re.findall(r'"([a-z0-9-]+)', block[1])
    assert len(names) >= 5
    assert [name for name in names if f"| {name} |" not in text] == []
