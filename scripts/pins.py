"""Pin every dependency to the newest version that fits, in pyproject.toml, without naming an index.

A lock file would name the index it was made with; constraints carry versions alone.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Rewrite `constraint-dependencies`."""
    project = ROOT / "pyproject.toml"
    text = re.sub(
        r"constraint-dependencies = \[.*?\]", "constraint-dependencies = []", project.read_text(), flags=re.DOTALL
    )
    project.write_text(text)
    command = ["uv", "pip", "compile", "-q", "--universal", "--group", "dev", "--group", "site", "pyproject.toml"]
    command += ["--no-emit-index-url", "--no-header", "--no-annotate", "--upgrade"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    pins = [line.strip() for line in found.splitlines() if "==" in line]
    listed = "".join(f'  "{pin.replace(chr(34), chr(39))}",\n' for pin in pins)
    project.write_text(text.replace("constraint-dependencies = []", f"constraint-dependencies = [\n{listed}]"))


if __name__ == "__main__":
    main()
