"""A new task in a folder: in its environment if it has one, else with a small one of its own; a new scenario file."""

import re
import shlex
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from clerkship.library.check import surroundings
from clerkship.library.source import Folder
from clerkship.library.yaml import parse
from clerkship.model.names import did_you_mean
from clerkship.model.problem import InputError
from clerkship.service.scaffold import TEMPLATES, Files, render, write

LONGEST_NAME = 200


def new_task(name: str, folder: Path, environment: str | None = None) -> list[Path]:
    """Write a task that validates, that its solution passes and that nobody passes by doing nothing."""
    stem = _stem(name)
    found = {str(data.get("name")): data for data in _pieces(folder, "environment")}
    if name in [data.get("name") for data in _pieces(folder, "task")]:
        raise InputError.of(f"a task in {folder} is called {name!r} already", hint="choose another name")
    files: Files = {}
    if not found and environment is None:
        text = (TEMPLATES / "project" / "practice" / "environment.yml").read_text(encoding="utf-8")
        files[folder / "environment.yml"] = text
        own = parse(text, "environment.yml").data["environment"]
        found = {own["name"]: own}
    place = _choose(found, environment, folder)
    sandboxes = surroundings(found[place]).sandboxes
    drops = [sandbox for sandbox, kind in sandboxes.items() if kind == "files"]
    values = {
        "name": _quoted(name),
        "shell_name": shlex.quote(name),
        "folder": shlex.quote(str(folder)),
        "environment": _quoted(place),
        "sandboxes": ", ".join(f"{sandbox} ({kind})" for sandbox, kind in sandboxes.items()) or "none",
        "sandbox": _quoted(drops[0]) if drops else "",
        "solution": f"../solutions/{stem}.py",
    }
    made = render("task", folder, values, ["files" if drops else "no files"])
    files[folder / "tasks" / f"{stem}.yml"] = made[folder / "task.yml"]
    files[folder / "solutions" / f"{stem}.py"] = made[folder / "solution.py"]
    return write(files)


def new_scenario(name: str, folder: Path, environment: str | None = None) -> list[Path]:
    """Write a scenario file that validates, with a person who needs no model and an assertion that silence fails."""
    stem = _stem(name, "scenario")
    found = {str(data.get("name")): data for data in _pieces(folder, "environment")}
    place = _choose(found, environment, folder) if found or environment is not None else None
    rooms = surroundings(found[place]).sandboxes if place is not None else {"chat": "chat"}
    talks = [sandbox for sandbox, kind in rooms.items() if kind == "chat"]
    if not talks:
        raise InputError.of(f"`{place}` has no chat, and so nobody can talk there", hint="give it one, or name another")
    path = folder / f"{stem}.yml"
    values = {
        "name": _quoted(name),
        "file": shlex.quote(str(path)),
        "environment": _quoted(place or ""),
        "sandbox": _quoted(talks[0]),
        "solution": f"../solutions/{stem}.py",
    }
    proven = (folder.parent / "solutions").is_dir()
    only = (["place"] if place is not None else []) + (["sandbox"] if len(talks) > 1 else [])
    made = render("scenario", folder, values, [*only, *(["solution"] if proven else [])])
    files: Files = {path: made[folder / "scenario.yml"]}
    if proven:
        files[folder.parent / "solutions" / f"{stem}.py"] = made[folder / "solution.py"]
    return write(files)


def _stem(name: str, what: str = "task") -> str:
    """The name of its files: `refill_a_prescription`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:60].strip("_")
    if not stem or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InputError.of(
            f"{name!r} cannot be a {what}'s name", hint="choose a short one, such as Refill a prescription"
        )
    return stem


def _quoted(text: str) -> str:
    """As YAML and Python both read it."""
    return orjson.dumps(text).decode()


def _pieces(folder: Path, sort: str) -> Iterator[dict[str, Any]]:
    """What a folder defines of a sort, as far as its files can be read: mistakes are for `validate`."""
    if not folder.is_dir():
        return
    read = Folder(folder)
    for tree in map(read.read, read.files()):
        data = tree.data if tree is not None and isinstance(tree.data, dict) else {}
        several = data.get(f"{sort}s")
        for piece in [data.get(sort), *(several if isinstance(several, list) else [])]:
            if isinstance(piece, dict):
                yield piece


def _choose(found: dict[str, Any], wanted: str | None, folder: Path) -> str:
    if wanted is not None and wanted not in found:
        hint = did_you_mean(wanted, found)
        raise InputError.of(f"no environment `{wanted}` in {folder}", hint=hint)
    if wanted is None and len(found) > 1:
        names = ", ".join(sorted(found))
        raise InputError.of(f"{folder} has several environments", hint=f"say --environment with one of {names}")
    return wanted if wanted is not None else next(iter(found))
