"""The commands of the guide to writing benchmarks over the API run as they are written."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.api.test_push import url

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "write_over_the_api.md"
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)

__all__ = ["url"]


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("jq") is None, reason="curl or jq is not installed")
def test_commands_of_the_guide_run(url: str, tmp_path: Path) -> None:
    script = "set -eo pipefail\n" + "\n".join(BLOCK.findall(GUIDE.read_text(encoding="utf-8")))
    environment = os.environ | {"SERVER": url, "KEY": os.environ["CLERKSHIP_SERVER_KEY"], "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        ["bash"], check=False, input=script, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for expected in (
        "./tasks/yes.yml",
        '"office@1"',
        "tags: [short]",
        "absent: true",
        '"patients":3',
        '"status":"draft"',
    ):
        assert expected.removeprefix("./") in done.stdout, expected
