"""Builds llms.txt, the list of pages for models, from the index of the documentation."""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
HEAD = """# Clerkship

> Clerkship tests AI agents in simulated health systems over their real protocols, and in conversations with simulated
> people. Suites are YAML files. Every run is graded over one ordered log.

To write a suite, read [Teach a model to write tasks](docs/guide/write_tasks_with_a_model.md): it is short, and enough
to begin. `clerkship docs PAGE` prints the pages of the installed version.
"""
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)#]+)\) \| (.+) \|$", re.MULTILINE)


def build_llms_text() -> str:
    """Return the rows of docs/README.md as lists, with the paths of the pages from the root of the repository."""
    _, *parts = _SECTION.split((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    text = HEAD
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        rows = [
            f"- [{name}]({posixpath.normpath(posixpath.join('docs', link))}): {contents}"
            for name, link, contents in _ROW.findall(body)
        ]
        text += "\n".join(["", f"## {title}", "", *rows, ""]) if rows else ""
    return text
