"""Create plug-in packages with a simulator or an assertion, a task and tests."""

import keyword
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clerkship.plugin
from clerkship.engine.plugin_loading import ENTRY_POINT_GROUP
from clerkship.model.errors import InputError
from clerkship.model.names import canonical_name
from clerkship.service.scaffold import Files, Values, render_templates, write_files

MAX_NAME_LENGTH = 40
_WORD = re.compile(r"[a-z][a-z0-9_]*")
_IMPORTED_NAMES = frozenset({*vars(clerkship.plugin), "Annotated", "ClassVar", "Field"})
_RESERVED_PREFIXES = frozenset({"clerkship", "pytest", "tests", "pydantic"})


@dataclass(frozen=True)
class PluginName:
    """The name of a simulator or an assertion with the prefix of its plug-in, such as `acme.pager`."""

    prefix: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "PluginName":
        """Parse `acme.pager` or `acme_pager`. Raise InputError."""
        plain = canonical_name(text)
        prefix, _, name = plain.partition(".") if "." in plain else plain.partition("_")
        words = all(_WORD.fullmatch(part) and not part.endswith("_") for part in (prefix, name))
        if not words or keyword.iskeyword(name) or len(plain) > MAX_NAME_LENGTH:
            raise InputError.of(
                f"`{text}` is not a prefix and a name",
                hint="write a prefix and a name in lower case, such as acme.pager",
            )
        if prefix in _RESERVED_PREFIXES:
            raise InputError.of(f"the prefix `{prefix}` is reserved", hint="choose another prefix")
        return cls(prefix, name)

    @property
    def package(self) -> str:
        """The name of the package, such as `acme_pager`."""
        return f"{self.prefix}_{self.name}"

    @property
    def full(self) -> str:
        """The name with its prefix, such as `acme.pager`."""
        return f"{self.prefix}.{self.name}"


def to_class_name(name: str) -> str:
    """Convert `night_pager` to `NightPager`."""
    return "".join(part.capitalize() for part in name.split("_"))


def to_assertion_class_name(name: str) -> str:
    """Convert a name to a class name that does not clash with the names that its file imports."""
    class_name = to_class_name(name)
    return f"{class_name}Assertion" if class_name in _IMPORTED_NAMES else class_name


def build_simulator_values(name: str, *, kind: str, folder: str, assertion: str) -> Values:
    """Return the values for the templates of a simulator."""
    return {"name": name, "Name": to_class_name(name), "kind": kind, "folder": folder, "assertion": assertion}


def create_simulator(text: str, target: Path) -> list[Path]:
    """Create a package with a simulator that conforms, an assertion, a step, a task and tests."""
    named = PluginName.parse(text)
    values = {
        **build_simulator_values(
            named.name,
            kind=named.full,
            folder=f"{named.package}.{named.name}",
            assertion=f"{named.full}_message_sent",
        ),
        **_package_values(named, f"A simulator for Clerkship, {named.full}."),
    }
    root = target / named.package
    folder = root / "src" / named.package / named.name
    files = render_templates("package", root, values, ("simulator",)) | render_templates(
        "package_simulator", root, values
    )
    return write_files(files | render_templates("simulator", folder, values))


def _package_values(named: PluginName, summary: str) -> Values:
    return {
        "prefix": named.prefix,
        "package": named.package,
        "project": named.package.replace("_", "-"),
        "summary": summary,
        "thing": named.full,
    }


@dataclass(frozen=True)
class CreatedAssertion:
    """The written files, and the lines that the author has to add."""

    written: list[Path]
    to_do: list[str]


def create_assertion(text: str, target: Path) -> CreatedAssertion:
    """Create a package with an assertion; inside an existing package, create its file and return the lines to add."""
    named = PluginName.parse(text)
    values = {
        **_package_values(named, f"An assertion for Clerkship, {named.full}."),
        "name": named.name,
        "Name": to_assertion_class_name(named.name),
    }
    project = target / "pyproject.toml"
    if project.is_file():
        return _add_to_package(named, values, project)
    root = target / named.package
    files = render_templates("package", root, values) | render_templates("package_assertion", root, values)
    return CreatedAssertion(
        write_files(files | render_templates("assertion_file", root / "src" / named.package, values)), []
    )


def _add_to_package(named: PluginName, values: Values, project: Path) -> CreatedAssertion:
    data = _read_project(project)
    known: dict[str, str] = data.get("entry-points", {}).get(ENTRY_POINT_GROUP, {})
    if known and named.prefix not in known:
        raise InputError.of(
            f"this plug-in has the prefix {', '.join(known)}, not `{named.prefix}`",
            file=str(project),
            hint=f"use the name {next(iter(known))}.{named.name}",
        )
    place = known.get(named.prefix, f"{canonical_name(str(data.get('name', named.package)))}:PLUGIN")
    package = place.partition(":")[0]
    folder = project.parent.joinpath("src", *package.split("."))
    if not folder.is_dir():
        folder = project.parent.joinpath(*package.split("."))
    files: Files = render_templates("assertion_file", folder, values)
    to_do = [f"from {package}.{named.name} import {values['Name']}", f"assertions=({values['Name']},)"]
    if not known:
        to_do.append(f'[project.entry-points."{ENTRY_POINT_GROUP}"]\n{named.prefix} = "{place}"')
    return CreatedAssertion(write_files(files), to_do)


def _read_project(project: Path) -> dict[str, Any]:
    try:
        project_table: dict[str, Any] = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError) as error:
        raise InputError.of(f"it cannot be read: {error}", file=str(project)) from None
    return project_table
