"""Write files from templates: all or none, and never over existing files."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.service.editor_schemas import add_modelines, write_schemas_for

TEMPLATES = Path(__file__).parent / "templates"
_PLACEHOLDER = re.compile(r"«(\w+)»")
_CONDITION = re.compile(r"^#\? (.+)\n", re.MULTILINE)
Values = Mapping[str, str]
Files = dict[Path, str]


def render_templates(template: str, target: Path, values: Values, only: Collection[str] = ()) -> Files:
    """Return the files of a template folder with their texts.

    `«name»` is replaced, and so are NAME and PACKAGE in paths. `#? condition` starts lines that are included only if
    `condition` is in `only`, up to `#? always`. Python templates end in `.txt` and hidden files start with `dot.`,
    so that tools do not treat the templates as files of this project.
    """
    root = TEMPLATES / template
    sources = sorted(path for path in root.rglob("*") if path.is_file())
    return {
        target / _fill_path(source.relative_to(root), values): fill_template(
            source.read_text(encoding="utf-8"), values, only
        )
        for source in sources
    }


def fill_template(text: str, values: Values, only: Collection[str] = ()) -> str:
    """Return the text of a template with placeholders and conditions replaced."""
    first, *rest = _CONDITION.split(text)
    included = [body for wanted, body in zip(rest[::2], rest[1::2], strict=True) if wanted in ("always", *only)]
    return _PLACEHOLDER.sub(lambda found: values[found[1]], first + "".join(included))


def _fill_path(path: Path, values: Values) -> Path:
    parts = [re.sub("NAME|PACKAGE", lambda found: values[found[0].lower()], part) for part in path.parts]
    parts = [f".{part.removeprefix('dot.')}" if part.startswith("dot.") else part for part in parts]
    return Path(*parts[:-1], parts[-1].removesuffix(".txt"))


def write_files_with_schemas(files: Files, schemas: Path, catalog: RegisteredCatalog) -> list[Path]:
    """Write files like `write_files`, each YAML file with the name of its schema, and the schemas."""
    written = write_files(add_modelines(files, schemas))
    write_schemas_for(files, schemas, catalog)
    return written


def write_files(files: Files) -> list[Path]:
    """Write the files. Raise InputError if one exists or cannot be written."""
    existing = [str(path) for path in files if path.exists()]
    if existing:
        raise InputError.of(f"{', '.join(existing)} already exists", hint="nothing was written")
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(error.filename)) from None
    return list(files)
