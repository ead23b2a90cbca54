"""Starts a simulator of ours from the templates that `clerkship new simulator` has for everybody.

python scripts/new_simulator.py pager    `make new-simulator NAME=pager` also sorts its imports and writes the reference
"""

import ast
import keyword
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import clerkship.plugin
from clerkship.model.errors import InputError
from clerkship.service.scaffold import render_templates, write_files
from clerkship.service.scaffold_plugin import build_simulator_values
from clerkship.simulators.registry import KINDS

HOUSE = Path(clerkship.__file__).parent / "simulators"
_FACE = re.compile(r"^from clerkship\.plugin import (.+)$", re.MULTILINE)
_LISTED = re.compile(r"^KINDS: tuple\[KindEntry, \.\.\.\] = \(\n(.*?)^\)$", re.MULTILINE | re.DOTALL)


def rooms() -> dict[str, str]:
    """Where each name of the face for plug-ins comes from: inside the house it is imported from there."""
    tree = ast.parse(Path(clerkship.plugin.__file__).read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.name: node.module or "" for node in found for alias in node.names}


def at_home(text: str) -> str:
    """A template's text with its imports from the rooms themselves."""
    where = rooms()

    def lines(found: re.Match[str]) -> str:
        return "\n".join(f"from {where[name]} import {name}" for name in found[1].split(", "))

    return _FACE.sub(lines, text)


def register(text: str, name: str) -> str:
    """Return the registry's text with an entry for what the templates of a simulator bring."""
    names = f'assertions={{"{name}_message_sent": ()}}, steps={{"{name}.receive": ()}}'
    entry = f'    KindEntry(kind="{name}", {names}),\n'
    text, count = _LISTED.subn(lambda found: found[0].removesuffix(")") + entry + ")", text)
    if count != 1:
        raise InputError.of("simulators/registry.py is not as this script knows it", hint="register it by hand")
    return text


def main(arguments: Sequence[str]) -> int:
    """Write the folder and register it."""
    name = arguments[0] if len(arguments) == 1 else ""
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,29}", name) or keyword.iskeyword(name):
        print("say what it is called, in small letters: make new-simulator NAME=pager", file=sys.stderr)
        return 2
    values = build_simulator_values(
        name, kind=name, folder=f"clerkship.simulators.{name}", assertion=f"{name}_message_sent"
    )
    registry = HOUSE / "registry.py"
    try:
        if name in [kind.kind for kind in KINDS] or (HOUSE / f"{name}.py").exists():
            raise InputError.of(f"there is a `{name}` already")
        registered = register(registry.read_text(encoding="utf-8"), name)
        files = render_templates("simulator", HOUSE / name, values)
        written = write_files({path: at_home(text) for path, text in files.items()})
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    registry.write_text(registered, encoding="utf-8")
    for path in written:
        print(f"+ {path.relative_to(HOUSE.parent.parent.parent)}")
    print(f"registered; next: make it yours, then tests/simulators/test_{name}.py")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
