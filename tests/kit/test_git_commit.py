"""The commit that is checked out, compared with what git says."""

import shutil
import subprocess
from pathlib import Path

import pytest

from clerkship.kit.git_commit import read_commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
OWNER = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    """Run git, and return what it prints."""
    command = ["git", *OWNER, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=30).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "one")
    return folder


def test_commit_of_a_branch_is_read_from_any_folder_below(checkout: Path) -> None:
    (checkout / "a" / "b").mkdir(parents=True)
    assert read_commit(checkout / "a" / "b") == git(checkout, "rev-parse", "HEAD")


def test_commit_is_read_from_packed_references_and_from_a_detached_head(checkout: Path) -> None:
    first = git(checkout, "rev-parse", "HEAD")
    git(checkout, "pack-refs", "--all")
    assert read_commit(checkout) == first
    git(checkout, "commit", "--quiet", "--allow-empty", "-m", "two")
    assert read_commit(checkout) == git(checkout, "rev-parse", "HEAD") != first
    git(checkout, "checkout", "--quiet", "--detach", first)
    assert read_commit(checkout) == first


def test_further_worktree_has_its_own_commit(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    git(tmp_path / "other", "commit", "--quiet", "--allow-empty", "-m", "three")
    assert read_commit(tmp_path / "other") == git(tmp_path / "other", "rev-parse", "HEAD") != read_commit(checkout)
    git(checkout, "pack-refs", "--all")
    assert read_commit(tmp_path / "other") == git(tmp_path / "other", "rev-parse", "HEAD")


def test_without_a_commit_nothing_is_told(tmp_path: Path) -> None:
    assert read_commit(tmp_path) == ""
    (tmp_path / ".git").mkdir()
    for head in ("", "ref: refs/heads/main", "ref: ../../etc/passwd", "not a commit"):
        (tmp_path / ".git" / "HEAD").write_text(head)
        assert read_commit(tmp_path) == ""
