"""The number of source files that one create passes through."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
MAX_FILES = 16


def test_create_passes_through_few_files() -> None:
    # In an interpreter of its own: in one whose threads were ended by an exception, CPython 3.11 profiles without end.
    command = [sys.executable, "-m", "tests.simulators.fhir.create_files"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    files = done.stdout.split()
    assert "simulators/fhir/write.py" in files
    assert len(files) <= MAX_FILES, files
