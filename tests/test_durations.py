"""Processor time of tests: it is recorded, and too much of it fails a test that is not marked."""

import pytest

from tests import durations

pytest_plugins = ["pytester"]

TESTS = """
import subprocess
import sys
import time

import pytest

BUSY = "import time\\nwhile time.process_time() < 0.3: pass"


def test_quick():
    pass


def test_busy():
    exec(BUSY.replace("0.3", str(time.process_time() + 0.3)))


@pytest.mark.long
def test_marked():
    exec(BUSY.replace("0.3", str(time.process_time() + 0.3)))


def test_program():
    subprocess.run([sys.executable, "-c", BUSY], check=True)


def test_idle():
    time.sleep(0.3)
"""


@pytest.fixture
def project(keep_imports: None, pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\nmarkers = long\n")
    pytester.makepyfile(TESTS)
    return pytester


def test_a_test_or_its_program_with_too_much_processor_time_fails_unless_marked(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durations, "SLOWDOWN_MARGIN", 0.0)
    result = project.runpytest_inprocess("-p", "tests.durations", "--cpu-limit", "0.2")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*s of processor time, more than 0.2 s: make it cheaper, or mark it `long`",
            "FAILED *test_busy*",
            "FAILED *test_program*",
        ]
    )


def test_the_slowest_tests_and_files_of_the_last_run_are_shown(
    project: pytest.Pytester, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    project.runpytest_inprocess("-p", "tests.durations").assert_outcomes(passed=5)
    capsys.readouterr()
    durations.main(["--count", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("in 5 tests of 1 files")
    assert any(line.startswith("main session: ") and line.endswith(" MB at most") for line in lines)
    slowest = lines[lines.index("slowest tests, seconds of processor time") + 1 :][:3]
    assert {line.rpartition("::")[2] for line in slowest} == {"test_busy", "test_marked", "test_program"}


@pytest.mark.parametrize(("limit", "code"), [("1", pytest.ExitCode.TESTS_FAILED), ("inf", pytest.ExitCode.OK)])
def test_a_process_that_keeps_too_much_memory_fails_the_run(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, limit: str, code: pytest.ExitCode
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    result = project.runpytest_inprocess("-p", "tests.durations", "-k", "quick", "--memory-limit", limit)
    assert result.ret == code
    result.stdout.fnmatch_lines(["main: * MB at its end, * MB at most"])
    assert ("error: a process may keep 1 MB" in result.stdout.str()) == (limit == "1")


def test_a_folder_without_runs_is_an_error(project: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        durations.main([])
    assert "no run is recorded in .cache/durations: run some tests first" in capsys.readouterr().err


def test_a_slow_machine_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    normal = durations.measure_slowdown()
    monkeypatch.setattr(durations, "LOOP_SECONDS", durations.LOOP_SECONDS / 100)
    assert durations.measure_slowdown() > normal * 5
