"""Write files from templates, such as a new project: all or none, and never over existing files."""

import json
import re
from collections.abc import Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import Literal

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.extras import is_installed
from clerkship.model.errors import InputError
from clerkship.service.schemas import PROJECT_FOLDER, add_modelines, write_schemas_for

TEMPLATES = Path(__file__).parent / "templates"
_PLACEHOLDER = re.compile(r"«(\w+)»")
_CONDITION = re.compile(r"^#\? (.+)\n", re.MULTILINE)
Values = Mapping[str, str]
Files = dict[Path, str]
ProjectKind = Literal["fhir", "hl7", "files", "portal", "payer", "phone", "fax", "messages", "chat"]
_SIMULATORS: Mapping[ProjectKind, str] = {"payer": "x12", "phone": "voice"}
"""The kinds of simulators of the projects that are not named like it."""
_PROJECT_PARTS = ("agent.py", "practice", "tests")
"""Parts that must not exist before; other files of the project may exist and are not changed."""
_NOT_IN_QUOTES = frozenset("\"'`\\\n\r$")


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
    return _PLACEHOLDER.sub(lambda match: values[match[1]], first + "".join(included))


def _fill_path(path: Path, values: Values) -> Path:
    parts = [re.sub("NAME|PACKAGE", lambda match: values[match[0].lower()], part) for part in path.parts]
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


def create_project(
    target: Path, kind: ProjectKind | None = None, install_from: str = "", catalog: RegisteredCatalog | None = None
) -> tuple[list[Path], list[Path]]:
    """Write a new project with an agent that passes its tasks, and files for CI. Without a kind, it has a chat and a
    file drop.

    CI installs Clerkship from an address or a path; without one, from the variable INSTALL_CLERKSHIP_FROM only. Return
    the written files, and the files that existed before and were not changed. With a catalog, also write the schemas
    of the YAML files for editors, and name them in the files.
    """
    values = {"install_from": _check_source(install_from)}
    name = kind or "default"
    files = render_templates("project", target, values, (name,)) | render_templates(f"project_{name}", target, values)
    existing = [path for path in files if path.exists() and path.relative_to(target).parts[0] not in _PROJECT_PARTS]
    written = {path: text for path, text in sorted(files.items()) if path not in existing}
    if catalog is None:
        return write_files(written), existing
    return write_files_with_schemas(written, target / PROJECT_FOLDER / "schemas", catalog), existing


def get_simulator_kind(kind: ProjectKind) -> str:
    """Return the kind of simulator that a project of a kind is about."""
    return _SIMULATORS.get(kind, kind)


def render_environment(target: Path, kind: ProjectKind | None) -> Files:
    """Return the environment of a new project and its datasets, for the folder of its tasks."""
    files = render_templates(f"project_{kind or 'default'}/practice", target, {})
    return {path: text for path, text in files.items() if path.parent == target}


def list_needed_extras(kind: ProjectKind, catalog: RegisteredCatalog) -> list[str]:
    """Return the extras without which the tasks of a project of a kind cannot be done, and that are not installed."""
    extras = catalog.simulator(get_simulator_kind(kind)).extras
    return [extra.name for extra in extras if extra.is_needed and not is_installed(extra.name)]


def find_install_source() -> str:
    """Return the repository and commit that this installation comes from, as pip takes them; empty if unknown."""
    try:
        record = metadata.distribution("clerkship").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        record = None
    return parse_install_source(record or "{}")


def parse_install_source(record: str) -> str:
    """Return the pinned address in a `direct_url.json` (PEP 610); empty if it names no repository with a commit."""
    try:
        match = json.loads(record)
    except ValueError:
        return ""
    version_control = match.get("vcs_info", {})
    system, commit, url = version_control.get("vcs"), version_control.get("commit_id"), match.get("url", "")
    is_usable = bool(system and commit) and not url.startswith("file:") and "@" not in url.partition("://")[2]
    address = f"{system}+{url}@{commit}"
    return address if is_usable and not _NOT_IN_QUOTES & set(address) else ""


def _check_source(source: str) -> str:
    if _NOT_IN_QUOTES & set(source):
        raise InputError.of(
            f"--install-from {source!r}: it has a quote, a backslash, a line end or $",
            hint="write a path, or an address such as git+https://host/clerkship.git@COMMIT",
        )
    return source
