"""Files of the Python environment that have other paths: in package caches, and elsewhere."""

import asyncio
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clerkship.actors.command import CommandSolver
from clerkship.actors.isolation.contract import Isolation, Level, offered
from clerkship.actors.isolation.protected import PACKAGE, SharedFiles, find_shared_files, shared_files
from clerkship.actors.process import Process
from clerkship.model.errors import InputError
from clerkship.service.isolating import choose_level, warn_unprotected_files

LEVELS = [level for level in offered() if level != "none"]
CODE = PACKAGE / "py.typed"
"""A file of the environment in which a program can do no harm."""


def write(path: Path) -> Path:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(path.name, encoding="utf-8")
    return path


def link(source: Path, target: Path) -> None:
    """Make a hard link."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in (errno.EXDEV, errno.EPERM):
            pytest.skip(f"{target} and {source} cannot share a file")
        raise


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of uv that shares a file with this environment."""
    folder = tmp_path / "my uv"
    link(CODE, folder / "archive-v0" / "package" / CODE.name)
    write(folder / "wheels-v7" / "pointer")
    monkeypatch.setenv("UV_CACHE_DIR", str(folder))
    shared_files.cache_clear()
    yield folder
    monkeypatch.undo()
    (folder / "archive-v0" / "package" / CODE.name).unlink()
    shared_files.cache_clear()


def test_shared_files_are_found_in_caches_and_counted(tmp_path: Path) -> None:
    environment, archive, wheels = tmp_path / "env", tmp_path / "uv/archive", tmp_path / "uv/wheels"
    for name in ("alone.py", "cached.py", "twice.py", "elsewhere.py", "lib/site-packages/below.py"):
        write(environment / name)
    write(wheels / "pointer")
    link(environment / "cached.py", archive / "a/cached.py")
    link(environment / "twice.py", environment / "inner/twice_too.py")
    link(environment / "twice.py", archive / "twice.py")
    link(environment / "elsewhere.py", archive / "elsewhere.py")
    found = find_shared_files([environment], [archive, wheels], [environment])
    assert found == SharedFiles((archive,), ())
    link(environment / "elsewhere.py", tmp_path / "another project/elsewhere.py")
    link(environment / "lib/site-packages/below.py", tmp_path / "another project/below.py")
    elsewhere = str(environment / "elsewhere.py")
    assert find_shared_files([environment], [archive, wheels], [environment]) == SharedFiles((archive,), (elsewhere,))
    packages = environment / "lib/site-packages"  # of this environment, not of the Python below it
    found = find_shared_files([environment, packages], [archive, wheels], [environment])
    assert found.unprotected == (elsewhere, str(packages / "below.py"))


def test_targets_of_symbolic_links_are_protected(tmp_path: Path) -> None:
    environment, archive = tmp_path / "env", tmp_path / "uv/archive"
    (environment / "bin").mkdir(parents=True)
    (environment / "lib64").symlink_to("bin")
    (environment / "cached.py").symlink_to(write(archive / "cached.py"))
    (environment / "sitecustomize.py").symlink_to(write(tmp_path / "etc/sitecustomize.py"))
    (environment / "broken.py").symlink_to("nowhere")
    found = find_shared_files([environment], [archive], [environment])
    assert found == SharedFiles((archive, tmp_path / "etc/sitecustomize.py"), ())


@pytest.mark.parametrize("level", LEVELS)
def test_program_cannot_change_the_environment_through_a_cache(level: Level, tmp_path: Path, cache: Path) -> None:
    shared, other = cache / "archive-v0" / "package" / CODE.name, cache / "wheels-v7" / "pointer"
    source = """
import sys
for path in sys.argv[1:]:
    try:
        open(path, "r+").close()
        print("writable", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
"""
    process = Process([sys.executable, "-I", "-S", "-c", source, str(shared), str(other)], tmp_path, Isolation(level))
    process.start({}, {})
    try:
        lines = [asyncio.run(process.receive()) for _ in range(2)]
    finally:
        process.close()
    assert lines[0] in (b"OSError", b"PermissionError")
    assert lines[1] == b"writable"


@pytest.mark.skipif(not LEVELS, reason="this machine cannot isolate programs")
def test_files_with_other_links_are_named_and_refused_by_isolate_always(tmp_path: Path) -> None:
    solver = CommandSolver("command:true", ["true"], tmp_path)
    link(CODE, tmp_path / "elsewhere")
    shared_files.cache_clear()
    try:
        assert str(CODE) in shared_files().unprotected
        with pytest.raises(InputError, match=r"--isolate always: an agent can change files .* hard links elsewhere: /"):
            choose_level(solver, "always")
        level = choose_level(solver, "auto")
        [warning] = warn_unprotected_files(level)
        assert "--link-mode copy" in warning.hint
        assert warn_unprotected_files("none") == warn_unprotected_files("trusted") == ()
    finally:
        (tmp_path / "elsewhere").unlink()
        shared_files.cache_clear()
