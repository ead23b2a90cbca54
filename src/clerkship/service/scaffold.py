"""A new project: an environment, a conversation, a piece of work, and an agent that passes both."""

from pathlib import Path

from clerkship.model.problem import InputError

TEMPLATES = Path(__file__).parent / "templates"


def init(target: Path) -> list[Path]:
    """Write the files; none that exists is touched."""
    sources = sorted(path for path in TEMPLATES.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    planned = [(path, target / path.relative_to(TEMPLATES).with_suffix(_suffix(path))) for path in sources]
    taken = [str(place) for _, place in planned if place.exists()]
    if taken:
        raise InputError.of(f"{', '.join(taken)} exists already", hint="choose an empty folder")
    for source, place in planned:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    return [place for _, place in planned]


def _suffix(path: Path) -> str:
    """Python templates are kept as text, so that nothing mistakes them for code of ours."""
    return ".py" if path.suffix == ".txt" else path.suffix
