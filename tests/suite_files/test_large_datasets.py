"""Memory for compressed datasets depends on their content, not on their unpacked size."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import sys
from pathlib import Path
from clerkship.suite_files.dataset_type import DatasetCache
from clerkship.simulators.fhir.datasets.load import read_path
from clerkship.model.errors import InputError
try:
    print(len(read_path(Path(sys.argv[1]), DatasetCache(None), lambda warning: None).lines or ()), "resources")
except InputError as error:
    print(error)
[peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(int(peak.split()[1]) // 1024)
"""
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak")
MAX_MEGABYTES = 150
BLANK = b" " * 999_999


def probe(path: Path) -> tuple[str, int]:
    """Read a dataset in a separate process; return its output and its peak memory in megabytes.

    `ru_maxrss` cannot be used: a child process starts with the value of its parent.
    """
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, str(path)], capture_output=True, text=True, check=True, timeout=120
    )
    said, megabytes = ended.stdout.strip().rsplit("\n", 1)
    return said, int(megabytes)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.json.gz", "it is one JSON text of more than 200 MB"),
        pytest.param("a.ndjson.gz", "one of its lines has more than 200 MB", marks=pytest.mark.slow),
    ],
)
def test_too_long_json_text_is_rejected_before_it_is_unpacked(tmp_path: Path, name: str, said: str) -> None:
    with gzip.open(tmp_path / name, "wb", compresslevel=1) as file:
        for _ in range(400):
            file.write(BLANK)
    found, megabytes = probe(tmp_path / name)
    assert said in found
    assert megabytes < MAX_MEGABYTES


@pytest.mark.slow
def test_ndjson_is_read_line_by_line(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.ndjson.gz", "wb", compresslevel=1) as file:
        for number in range(400):
            file.write(b'{"resourceType":"Patient","id":"p%d"}%b\n' % (number, BLANK))
    found, megabytes = probe(tmp_path / "a.ndjson.gz")
    assert found == "400 resources"
    assert megabytes < MAX_MEGABYTES
