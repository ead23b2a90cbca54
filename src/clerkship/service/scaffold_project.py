"""Create a project: an environment, tasks, an agent that passes them, tests, and CI files."""

import json
from importlib import metadata
from pathlib import Path
from typing import Literal

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.service.editor_schemas import PROJECT_FOLDER
from clerkship.service.scaffold import render_templates, write_files, write_files_with_schemas

ProjectKind = Literal["fhir", "hl7", "files", "chat"]
_PROJECT_PARTS = ("agent.py", "practice", "tests")
"""Parts that must not exist before; other files of the project may exist and are not changed."""
_NOT_IN_QUOTES = frozenset("\"'`\\\n\r$")


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
        found = json.loads(record)
    except ValueError:
        return ""
    version_control = found.get("vcs_info", {})
    system, commit, url = version_control.get("vcs"), version_control.get("commit_id"), found.get("url", "")
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
