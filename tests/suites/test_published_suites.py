"""The shipped suites as published versions: their digests, what is said when one changed, and the installed package."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from clerkship.model.errors import InputError
from clerkship.suite_files.published import places
from clerkship.suite_files.published.archive import open_archive
from clerkship.suite_files.published.places import find_suite
from scripts.publish import DIGESTS, ROOT, ShippedSuites

SUITE = """
    environment: {name: desk, simulators: {drop: {kind: files}}}
    benchmark: {name: Desk, slug: desk, version: 1}
    task:
      name: Answer
      task_item: {instruction: What is six times seven?}
      criteria:
        - {label: answers, assertion: {answer_matches: 42}}
"""


def test_every_suite_is_published_with_its_licence_its_authors_and_its_limits() -> None:
    suites = ShippedSuites()
    assert suites.list_names() == sorted(path.name for path in (ROOT / "suites").iterdir() if path.is_dir())
    assert {name.partition("@")[0] for name in suites.records} == set(suites.list_names())
    assert suites.check_released() == []


@pytest.fixture
def suites(tmp_path: Path) -> ShippedSuites:
    """A folder with one suite that is published."""
    write(tmp_path, SUITE)
    suites = ShippedSuites(tmp_path / "suites", tmp_path / "shipped")
    assert suites.publish() == [
        "suites/desk: desk@1 has no digest in suites/published.json; run `make publish ARGS=--update`"
    ]
    assert suites.publish(update=True) == []
    assert open_archive(tmp_path / "shipped" / "desk@1.clerkship.gz").digest == suites.records["desk@1"].digest
    return suites


def write(folder: Path, text: str) -> None:
    """Write the suite."""
    (folder / "suites" / "desk").mkdir(parents=True, exist_ok=True)
    (folder / "suites" / "desk" / "benchmark.yml").write_text(text, encoding="utf-8")


def test_changed_suite_is_refused_in_words_until_its_digest_is_updated(tmp_path: Path, suites: ShippedSuites) -> None:
    assert suites.publish() == []
    write(tmp_path, SUITE.replace("42", "43"))
    [problem] = suites.publish()
    assert problem.startswith("suites/desk differs from desk@1: Answer: criterion `answers` changed: ")
    assert problem.endswith("; run `make publish ARGS=--update`")
    (tmp_path / "shipped" / "old@1.clerkship.gz").write_bytes(b"")
    assert suites.publish(update=True) == []
    assert ShippedSuites(suites.suites, suites.shipped).publish() == []
    assert [path.name for path in suites.shipped.iterdir()] == ["desk@1.clerkship.gz"]


def test_suite_with_a_mistake_is_named_beside_the_other_problems(tmp_path: Path, suites: ShippedSuites) -> None:
    write(tmp_path, SUITE.replace("answer_matches", "answer_matched"))
    [problem] = suites.publish(update=True)
    assert problem.startswith(f"suites/desk has mistakes: {tmp_path / 'suites' / 'desk' / 'benchmark.yml'}:8:")
    assert [path.name for path in suites.shipped.iterdir()] == ["desk@1.clerkship.gz"]


def test_released_version_is_never_rewritten(tmp_path: Path, suites: ShippedSuites) -> None:
    file = suites.suites / DIGESTS
    file.write_text(file.read_text(encoding="utf-8").replace("false", "true"), encoding="utf-8")
    released = replace(suites)
    archive = suites.shipped / "desk@1.clerkship.gz"
    before = archive.read_bytes()
    assert released.publish(update=True) == []
    write(tmp_path, SUITE.replace("seven", "eight"))
    [problem] = released.publish(update=True)
    assert problem.startswith("suites/desk differs from desk@1: Answer: task_item.instruction: What is six times seven")
    assert "; desk@1 is released, so write `version: 2` in suites/desk/benchmark.yml, and run" in problem
    assert archive.read_bytes() == before
    write(tmp_path, SUITE.replace("seven", "eight").replace("version: 1", "version: 2"))
    assert released.publish(update=True) == []
    assert sorted(path.name for path in suites.shipped.iterdir()) == ["desk@1.clerkship.gz", "desk@2.clerkship.gz"]
    assert archive.read_bytes() == before
    assert json.loads(file.read_text(encoding="utf-8"))["desk@1"]["released"] is True
    archive.unlink()
    assert released.check_released() == [f"desk@1 is released, but {archive} is not there or has another digest"]


def test_checkout_without_archives_says_how_to_build_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suites" / "chart").mkdir(parents=True)
    (tmp_path / "suites" / "chart" / "benchmark.yml").touch()
    monkeypatch.setattr(places, "SHIPPED", tmp_path / "src" / "clerkship" / "shipped")
    with pytest.raises(InputError, match="`make publish` builds the versions that ship"):
        find_suite(Path("chart@1"))
    with pytest.raises(InputError, match="publish it: clerkship publish"):
        find_suite(Path("charts@1"))


@pytest.mark.slow
@pytest.mark.long
def test_installed_wheel_runs_the_shipped_suites_without_the_checkout(tmp_path: Path) -> None:
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed")
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    folder, python = tmp_path / "empty", tmp_path / "venv" / "bin" / "python"
    folder.mkdir()

    def run(*words: str | Path) -> str:
        command = [str(word) for word in words]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    run(uv, "build", "--quiet", "--out-dir", tmp_path / "dist", ROOT)
    run(uv, "venv", "--quiet", tmp_path / "venv")
    run(uv, "pip", "install", "--quiet", "--python", python, *(tmp_path / "dist").glob("*.whl"))
    for name in ("chart@1", "feeds@1"):
        assert "pass rate 100%" in run(python.with_name("clerkship"), "run", name, "--agent", "oracle")
