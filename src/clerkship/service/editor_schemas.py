"""JSON Schemas for editors: files beside the store, and the comment in a YAML file that names its schema.

The YAML language server, which many editors use, reads the comment. The schemas have the names of all installed
plug-ins, so they are written on each machine and not kept in version control.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.atomic_write import write_atomically
from clerkship.model.errors import InputError
from clerkship.service.schemas import FILE_MODELS, build_schema
from clerkship.suite_files.source import SUFFIXES

PROJECT_FOLDER = ".clerkship"
_TOP_KEY = re.compile(rf"^({'|'.join(FILE_MODELS)}):", re.MULTILINE)


def find_schema_folder(folder: Path) -> Path:
    """Return the folder of schemas for files in a folder.

    It is in the nearest `.clerkship` above the folder, but not above the working folder. If there is none, it is in the
    working folder, or in the folder itself if that is elsewhere.
    """
    here = Path.cwd()
    start = Path(os.path.normpath(here / folder))
    places = (place for place in (start, *start.parents) if place not in here.parents)
    default = here if start.is_relative_to(here) else start
    project = next((place for place in places if (place / PROJECT_FOLDER).is_dir()), default)
    return project / PROJECT_FOLDER / "schemas"


def add_modelines(files: Mapping[Path, str], schemas: Path) -> dict[Path, str]:
    """Return the files; those that define something of ours start with the comment that names their schema."""
    return {path: add_modeline(path, text, schemas) for path, text in files.items()}


def add_modeline(path: Path, text: str, schemas: Path) -> str:
    """Return the text of a file with the comment that names its schema, relative to the file."""
    kind = _find_kind(path, text)
    if kind is None:
        return text
    # Not Path.relative_to: the schemas may be in another branch of the folders.
    schema = os.path.relpath(_schema_path(schemas, kind), Path.cwd() / path.parent)
    return f"# yaml-language-server: $schema={Path(schema).as_posix()}\n{text}"


def write_schemas_for(files: Mapping[Path, str], schemas: Path, catalog: RegisteredCatalog) -> list[Path]:
    """Write the schemas that these files name."""
    kinds = [_find_kind(path, text) for path, text in files.items()]
    return write_schemas(schemas, dict.fromkeys(kind for kind in kinds if kind is not None), catalog)


def write_schemas(schemas: Path, kinds: Iterable[str], catalog: RegisteredCatalog) -> list[Path]:
    """Write the schemas of some kinds of files, over earlier versions of them. Raise InputError."""
    written = {_schema_path(schemas, kind): build_schema(kind, catalog) for kind in kinds}
    try:
        for path, schema in written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, [orjson.dumps(schema)])
    except OSError as error:
        raise InputError.of(f"it cannot be written: {error.strerror}", file=str(error.filename)) from None
    return list(written)


def _schema_path(schemas: Path, kind: str) -> Path:
    return schemas / f"{kind}.schema.json"


def _find_kind(path: Path, text: str) -> str | None:
    """Return what a YAML file defines, by its first key that is one of ours."""
    match = _TOP_KEY.search(text) if path.suffix in SUFFIXES else None
    return match[1] if match is not None else None
