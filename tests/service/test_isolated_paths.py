"""Isolated runs from other folders, by relative paths, through links and with blanks, as root and as another user."""

import json
import sys
import tempfile
from pathlib import Path

import pytest

from clerkship.actors.isolation.contract import offered
from tests.other_user import run_as_other_user
from tests.service.isolated_paths import find_problems

needs_isolation = pytest.mark.skipif(offered() == ("none",), reason="this machine cannot isolate programs")


@needs_isolation
def test_suites_are_found_and_hidden_by_any_notation_of_their_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = [Path("/", name) for name in ("my suite", "agent files", "links", "texts", "tasks.yml")]
    before = [path for path in roots if path.exists()]
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert find_problems(tmp_path.resolve()) == []
    assert [path for path in roots if path.exists()] == before  # bubblewrap creates missing mount points


@needs_isolation
def test_suites_are_found_and_hidden_for_a_user_without_privileges() -> None:
    with tempfile.TemporaryDirectory() as home:
        run = run_as_other_user([sys.executable, "-m", "tests.service.isolated_paths", home], Path(home))
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout) == []
