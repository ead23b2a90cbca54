"""Finding `conftest.yml`: which file is one, the one above a folder of scenarios, the templates it names."""

from pathlib import Path
from typing import Any

from clerkship.library.source import SUFFIXES, Unreadable, read_text

STEM = "conftest"
BLOCKS = frozenset({"simulation", "evaluation"})


def is_conftest(path: Path, data: Any) -> bool:
    """Whether a file says which models an evaluation uses; other tests have files of this name too."""
    return path.stem == STEM and isinstance(data, dict) and bool(BLOCKS & data.keys())


def above(root: Path) -> Path | None:
    """The one that a folder of scenarios goes by: `eval/conftest.yml` for `eval/scenarios`."""
    folder = root.resolve()
    if folder.name != "scenarios" and folder.parent.name != "eval":
        return None
    found = (root.resolve().parent / f"{STEM}{suffix}" for suffix in SUFFIXES)
    return next((path for path in found if path.is_file()), None)


def check_template(conftest: Path, name: str) -> None:
    """Raise Unreadable unless it is a file of the project, with something in it. Paths are from the project's root."""
    folder = conftest.resolve().parent
    project = folder.parent if folder.name == "eval" else folder
    path = project / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(project):
        raise Unreadable("it is outside the project", f"paths are from {project.name}/, and stay in it")
    if not path.exists():
        raise Unreadable("there is no such file", f"it is looked for from {project.name}/")
    if not read_text(path).strip():
        raise Unreadable("it is empty")
