"""A release: one version, and files that fit it."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from clerkship import __version__
from scripts.release import (
    BUILD_CHECKS,
    FIRST_COMMANDS,
    Check,
    Release,
    check_pins,
    check_readme,
    check_sdist,
    check_tree,
    check_version,
    check_wheel,
    print_checks,
    run,
)

ROOT = Path(__file__).parent.parent
VERSIONED = {"src/clerkship/__init__.py", "CHANGELOG.md", "src/clerkship/api/examples.json"}
"""Where the version is written, what says what it changed, and what `make docs` writes."""


def test_version_is_written_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"] == {"path": "src/clerkship/__init__.py"}
    pattern = rf"clerkship.{{0,12}}\b{re.escape(__version__)}\b"
    found = subprocess.run(
        ["git", "grep", "--name-only", "-iE", pattern],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert {*found.stdout.split()} - VERSIONED == set(), "read clerkship.__version__ instead"


def test_changelog_has_a_section_of_the_version() -> None:
    assert f"\n## {__version__} - 20" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_image_has_all_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"^ARG EXTRAS=(.*)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert extras.split(",") == [*project["optional-dependencies"]]


FILES = {
    "src/clerkship/__init__.py": '__version__ = "1.2.3"\n',
    "src/clerkship/api/examples.json": '{"clerkship": "1.2.3"}',
    "suites/published.json": '{"chart@1": {}}',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.3 - 2026-11-19\n\n## 1.2.2 - 2026-11-01\n",
    "docs/guide/in_ci.md": "- uses: OWNER/clerkship@v1.2.3\n",
    "pyproject.toml": '[tool.uv]\nconstraint-dependencies = ["a==1.0", "b[c]==2.0.post1 ; python_version > \'3\'"]\n',
    "README.md": "\n".join(FIRST_COMMANDS),
    ".ci/run": "stage make test\n",
}


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """A small checkout that can be released."""
    made = Release(tmp_path / "built", root=tmp_path / "checkout")
    made.dist.mkdir(parents=True)
    for name, text in FILES.items():
        _write(made, name, text)
    made.git("init", "--quiet", "--initial-branch", "main")
    _commit(made)
    return made


def _write(release: Release, name: str, text: str) -> None:
    path = release.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _commit(release: Release) -> None:
    release.git("add", "--all")
    author = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")
    release.git(*author, "commit", "--quiet", "--message", "x")


@pytest.mark.parametrize("check", [check_tree, check_version, check_pins, check_readme])
def test_good_checkout_has_no_problems(release: Release, check: Check) -> None:
    assert check(release) == []


@pytest.mark.parametrize("check", [check_pins, check_readme])
def test_this_checkout_has_no_problems(tmp_path: Path, check: Check) -> None:
    assert check(Release(tmp_path)) == []


def test_uncommitted_files_other_branches_and_used_tags_are_found(release: Release) -> None:
    release.git("tag", "v1.2.3")
    assert check_tree(release) == []
    _write(release, "README.md", "changed")
    _commit(release)
    release.git("switch", "--quiet", "--create", "other")
    _write(release, "notes.txt", "")
    assert check_tree(release) == [
        "commit, remove or ignore notes.txt",
        "this is the branch other: release from `main`",
        "v1.2.3 is the tag of another commit: raise `__version__` in src/clerkship/__init__.py",
    ]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("CHANGELOG.md", "## Unreleased\n\n## 1.2.3 - 2026-11-19", "is “Unreleased”: it must be “1.2.3 - YYYY-MM-DD”"),
        ("CHANGELOG.md", "## 1.2.3 - 2026-11-31", "is “1.2.3 - 2026-11-31”"),
        ("CHANGELOG.md", "# Changelog", "is “missing”"),
        ("docs/guide/in_ci.md", "uses: OWNER/clerkship@v1.2.2", "write @v1.2.3"),
        ("src/clerkship/api/examples.json", '{"clerkship": "1.2.2"}', "run `make docs`"),
        ("src/clerkship/__init__.py", '__version__ = "1.3.dev0"\n', "write three numbers"),
    ],
)
def test_other_versions_are_found(release: Release, name: str, text: str, problem: str) -> None:
    _write(release, name, text)
    assert problem in check_version(release)[0]


def test_pins_with_addresses_and_locks_are_found(release: Release) -> None:
    pins = '["a @ https://host/a.whl", "b>=1", "c==1 ; x:y"]'
    _write(
        release, "pyproject.toml", f'[tool.uv]\nindex = [{{url = "https://host"}}]\nconstraint-dependencies = {pins}\n'
    )
    _write(release, "uv.lock", "")
    _commit(release)
    problems = check_pins(release)
    assert [problem.split(":")[0] for problem in problems[-2:]] == [
        "pyproject.toml has `index` in [tool.uv]",
        "uv.lock names an index",
    ]
    assert len(problems) == 5


def test_missing_commands_of_the_readme_are_found(release: Release) -> None:
    _write(release, "README.md", FIRST_COMMANDS[0])
    _write(release, ".ci/run", "true")
    assert check_readme(release) == ["README.md has no `make test`", ".ci/run does not run `make test`"]


WHEEL = ["METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"]
SHIPPED = "clerkship/shipped/chart@1.clerkship.gz"


@pytest.mark.parametrize(
    ("missing", "surplus", "problems"),
    [
        ("", "", []),
        (SHIPPED, "", [f"the wheel has no {SHIPPED}: see [tool.hatch.build] in pyproject.toml"]),
        ("", "clerkship/.clerkship/store.db", ["clerkship/.clerkship/store.db, which is not in Git or not for it"]),
    ],
)
def test_files_that_a_wheel_lacks_or_has_too_much_are_found(
    release: Release, missing: str, surplus: str, problems: list[str]
) -> None:
    names = ["clerkship/__init__.py", "clerkship/api/examples.json", "clerkship/docs/guide/in_ci.md", SHIPPED]
    names += [f"clerkship-1.2.3.dist-info/{name}" for name in WHEEL]
    with zipfile.ZipFile(release.wheel, "w") as wheel:
        for name in {*names, surplus} - {missing, ""}:
            wheel.writestr(name, "")
    found = check_wheel(release)
    assert len(found) == len(problems)
    assert all(problem in text for problem, text in zip(problems, found, strict=True))


def test_files_that_an_sdist_lacks_or_has_too_much_are_found(release: Release) -> None:
    with tarfile.open(release.sdist, "w:gz") as sdist:
        for name in ("src/clerkship/__init__.py", "tests/conftest.py"):
            sdist.add(release.root / "README.md", arcname=f"clerkship-1.2.3/{name}")
    problems = check_sdist(release)
    assert "the sdist has tests/conftest.py, which is not in Git or not for it" in problems
    assert any(problem.startswith("the sdist has no suites/published.json") for problem in problems)


def test_checks_print_what_to_do(release: Release, capsys: pytest.CaptureFixture[str]) -> None:
    checks: dict[str, Check] = {"fine": lambda _: [], "broken": lambda _: ["first\nsecond"]}
    assert not print_checks(checks, release)
    assert capsys.readouterr().out == "✓ fine\n✗ broken\n    first\n    second\n"
    assert print_checks({"fine": lambda _: []}, release)


def test_failed_and_missing_programs_are_problems(tmp_path: Path) -> None:
    assert run([sys.executable, "-c", "print('why'); raise SystemExit(3)"], tmp_path)[0].endswith("exits with 3\nwhy")
    assert "No such file" in run(["no-such-program"], tmp_path)[0]
    assert run([sys.executable, "-c", ""], tmp_path) == []


@pytest.mark.slow
def test_what_is_built_of_the_last_commit_works_without_the_checkout(tmp_path: Path) -> None:
    release = Release(tmp_path)
    assert [problem for check in BUILD_CHECKS.values() for problem in check(release)] == []
