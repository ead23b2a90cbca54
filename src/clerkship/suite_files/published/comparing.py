"""Compare two published versions in words: which tasks, and in them which criterion, step or record."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from clerkship.suite_files.published.archive import Archive
from clerkship.suite_files.published.manifest import TaskInfo

_NOT_COMPARED = frozenset({"name", "criteria", "scenario", "entities", "for_each", "environment", "solution", "tags"})
"""Keys of a task that are compared by their parts, or that say nothing by themselves."""
_LIMITS = ("timeout", "concurrency", "gate_axes", "axes", "licence", "authors", "limits", "description")


def compare_archives(before: Archive, after: Archive) -> list[str]:
    """Return the differences, one sentence each; none if both have the same content."""
    return list(dict.fromkeys(_Comparison(before, after).list_differences()))


@dataclass(frozen=True)
class _Comparison:
    before: Archive
    after: Archive

    def list_differences(self) -> Iterator[str]:
        old, new = self.before.manifest, self.after.manifest
        if old.grading != new.grading:
            yield f"grading version {old.grading} → {new.grading}"
        for key in _LIMITS:
            yield from _describe_value(f"benchmark: {key}", getattr(old.benchmark, key), getattr(new.benchmark, key))
        yield from self._compare_environments()
        yield from self._compare_datasets()
        yield from self._compare_files()
        yield from self._compare_tasks()

    def _compare_tasks(self) -> Iterator[str]:
        old = {info.name: info for info in self.before.manifest.tasks}
        new = {info.name: info for info in self.after.manifest.tasks}
        yield from (f"task removed: {name}" for name in old if name not in new)
        yield from (f"task added: {name}" for name in new if name not in old)
        for name, task in old.items():
            if name in new:
                yield from (f"{name}: {text}" for text in self._compare_task(task, new[name]))

    def _compare_task(self, old: TaskInfo, new: TaskInfo) -> Iterator[str]:
        if self._is_same(old.entry, new.entry) and self._is_same(old.variants, new.variants):
            return
        before, after = _read(self.before, old.entry), _read(self.after, new.entry)
        yield from _describe_value("environment", old.environment, new.environment)
        yield from _compare_contents(before["task"], after["task"])
        for name in sorted({*before["entities"], *after["entities"]}):
            if before["entities"].get(name) != after["entities"].get(name):
                yield f"the record `{name}` changed"
        if before["solution"] != after["solution"]:
            yield "its solution changed"
        yield from self._compare_variants(old, new)

    def _compare_variants(self, old: TaskInfo, new: TaskInfo) -> Iterator[str]:
        before = _read(self.before, old.variants) if old.variants else {}
        after = _read(self.after, new.variants) if new.variants else {}
        for key, title in (("wrong", "wrong solution"), ("ways", "other way")):
            yield from _compare_named(title, before.get(key, ()), after.get(key, ()), "name")

    def _compare_environments(self) -> Iterator[str]:
        old, new = self.before.manifest.environments, self.after.manifest.environments
        yield from (f"environment removed: {name}" for name in old if name not in new)
        yield from (f"environment added: {name}" for name in new if name not in old)
        for name, entry in old.items():
            if name in new and not self._is_same(entry, new[name]):
                before, after = _read(self.before, entry), _read(self.after, new[name])
                for path in _find_changed_paths(before["environment"], after["environment"]):
                    yield f"environment {name}: {path} changed"

    def _compare_datasets(self) -> Iterator[str]:
        old = {info.name: info.entry for info in self.before.manifest.datasets}
        new = {info.name: info.entry for info in self.after.manifest.datasets}
        yield from (f"dataset removed: {name}" for name in old if name not in new)
        yield from (f"dataset added: {name}" for name in new if name not in old)
        for name, entry in old.items():
            if name in new and not self._is_same(entry, new[name]):
                change = _describe_records(self.before.read(entry), self.after.read(new[name]))
                yield f"dataset {name}: {change}"

    def _compare_files(self) -> Iterator[str]:
        before, after = self.before.manifest, self.after.manifest
        if not self._is_same(before.conftest, after.conftest):
            yield "the conftest changed"
        for title, old, new in (
            ("prompt", before.prompts, after.prompts),
            ("recording", before.recordings, after.recordings),
        ):
            for name in sorted({*old, *new}):
                if not self._is_same(old.get(name, ""), new.get(name, "")):
                    change = "removed" if name not in new else "added" if name not in old else "changed"
                    yield f"{title} {name}: {change}"

    def _is_same(self, old: str, new: str) -> bool:
        before, after = self.before.manifest.entries.get(old), self.after.manifest.entries.get(new)
        return before == after


def _read(archive: Archive, entry: str) -> dict[str, Any]:
    data: dict[str, Any] = orjson.loads(archive.read(entry))
    return data


def _compare_contents(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences of two tasks of the same name."""
    yield from _compare_named("criterion", old["criteria"], new["criteria"], "label")
    before, after = old["scenario"] or {}, new["scenario"] or {}
    yield from _compare_steps(before.get("steps") or (), after.get("steps") or ())
    for path in _find_changed_paths({**before, "steps": None}, {**after, "steps": None}):
        yield f"scenario: {path} changed"
    for key in sorted({*old, *new} - _NOT_COMPARED):
        for path in _find_changed_paths(old.get(key), new.get(key)):
            yield f"{f'{key}.{path}' if path else key} changed"
    yield from _describe_value("tags", old["tags"], new["tags"])


def _compare_named(title: str, old: Sequence[Any], new: Sequence[Any], key: str) -> Iterator[str]:
    before, after = {each[key]: each for each in old}, {each[key]: each for each in new}
    yield from (f"{title} removed: {name}" for name in before if name not in after)
    yield from (f"{title} added: {name}" for name in after if name not in before)
    for name, value in before.items():
        if name in after and value != after[name]:
            paths = ", ".join(path for path in _find_changed_paths(value, after[name]) if path)
            yield f"{title} changed: {name} ({paths})"


def _compare_steps(old: Sequence[Any], new: Sequence[Any]) -> Iterator[str]:
    if len(old) != len(new):
        yield f"{len(old)} → {len(new)} steps"
    for number, (before, after) in enumerate(zip(old, new, strict=False), 1):
        if before != after:
            name = after.get("call", after).get("name", "") if isinstance(after, dict) else ""
            yield f"step {number}{f' ({name})' if name else ''} changed"


def _find_changed_paths(old: Any, new: Any, depth: int = 2) -> list[str]:
    """Return the dotted paths at which two values differ, down to a depth; an empty path if they differ as a whole."""
    if old == new:
        return []
    if not (isinstance(old, dict) and isinstance(new, dict)) or depth == 0:
        return [""]
    paths = []
    for key in sorted({*old, *new}):
        for path in _find_changed_paths(old.get(key), new.get(key), depth - 1):
            paths.append(f"{key}.{path}" if path else key)
    return paths


def _describe_records(old: bytes, new: bytes) -> str:
    """Return how many records of a dataset are other ones, where it has one record a line."""
    before, after = set(old.split(b"\n")), set(new.split(b"\n"))
    if len(before) < 2 or len(after) < 2:
        return "its content changed"
    return f"{len(after - before):,} records new or changed, {len(before - after):,} gone or changed"


def _describe_value(title: str, old: Any, new: Any) -> Iterator[str]:
    if old != new:
        yield f"{title}: {_show(old)} → {_show(new)}"


def _show(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)
