"""docs/performance.md is written by the benchmarks: every table is in a block, and every block has a command."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import page
from benchmarks.page import BENCHMARKS, MACHINE, PAGE, ROOT, BenchmarkFailed, measure, replace_block, run
from benchmarks.profiles import name_part
from benchmarks.table import render_table

BLOCK = re.compile(r"^<!-- ([^\n]+) -->\n(.*?)^<!-- end -->$", re.DOTALL | re.MULTILINE)
TEXT = "# Title\n\n<!-- make bench-a -->\n\nold\n\n<!-- end -->\n\nbetween\n\n<!-- make bench-b -->\n<!-- end -->\n"


def test_every_block_has_a_command_and_every_command_a_block() -> None:
    names = [name for name, _ in BLOCK.findall(PAGE.read_text(encoding="utf-8"))]
    assert sorted(names) == sorted([MACHINE, *(f"make bench-{name}" for name in BENCHMARKS)])
    assert [name for name in BENCHMARKS if not (ROOT / "benchmarks" / f"{name}.py").is_file()] == []


def test_every_table_is_in_a_block() -> None:
    assert [line for line in BLOCK.sub("", PAGE.read_text(encoding="utf-8")).splitlines() if line.startswith("|")] == []


def test_block_is_replaced_and_the_rest_stays() -> None:
    replaced = replace_block(TEXT, "make bench-a", "| new \\1 |\n")
    assert replaced == TEXT.replace("old", "| new \\1 |")
    filled = replace_block(replaced, "make bench-b", "b")
    assert BLOCK.findall(filled) == [("make bench-a", "\n| new \\1 |\n\n"), ("make bench-b", "\nb\n\n")]
    with pytest.raises(KeyError, match="has 0 blocks `<!-- make bench-c -->`"):
        replace_block(TEXT, "make bench-c", "")


def test_failed_benchmark_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "performance.md"
    written.write_text(f"<!-- machine -->\n<!-- end -->\n{TEXT}", encoding="utf-8")
    monkeypatch.setattr(page, "PAGE", written)
    monkeypatch.setattr(page, "BENCHMARKS", {"a": (), "b": ()})
    programs = {"benchmarks.a": "raise SystemExit(3)", "benchmarks.b": "print('| x |\\n|---|\\n| 1 |')"}
    monkeypatch.setattr(page, "run", lambda command: run([sys.executable, "-c", programs[command[2]]]))
    assert measure(["a", "b"]) == ["a"]
    blocks = dict(BLOCK.findall(written.read_text(encoding="utf-8")))
    assert blocks["make bench-a"] == "\nold\n\n"
    assert re.search(r"^`make bench-b`, \d{4}-\d\d-\d\d, commit `[0-9a-z]+`", blocks["make bench-b"], re.MULTILINE)
    assert "| x |\n|---|\n| 1 |" in blocks["make bench-b"]
    assert "a ... failed: exit code 3" in capsys.readouterr().out


def test_benchmark_that_prints_no_table_fails() -> None:
    with pytest.raises(BenchmarkFailed, match="no table"):
        run([sys.executable, "-c", "print('hello')"])


def test_missing_cells_are_empty_and_bars_are_replaced() -> None:
    assert render_table(("a", "b"), [("x|y",)]) == "| a | b |\n|---|---|\n| x/y |  |"


PROFILED = """
import threading
import orjson
from benchmarks.profiles import profile

def work():
    thread = threading.Thread(target=lambda: [orjson.dumps(list(range(2_000))) for _ in range(500)])
    thread.start()
    thread.join(60)

print(profile(work))
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from 3.12 on, cProfile profiles one thread at a time")
def test_profile_shows_parts_of_all_threads_by_package_and_library() -> None:
    command = [sys.executable, "-c", PROFILED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert "orjson" in done.stdout, done.stderr
    assert name_part("/x/src/clerkship/formats/fhir/search.py") == "`formats/fhir`"
    assert name_part("/x/src/clerkship/events/log.py") == "`events`"
    assert name_part("/y/site-packages/pydantic/main.py") == "pydantic"
    assert name_part("/y/lib/python3.11/json/decoder.py") == "other libraries"
