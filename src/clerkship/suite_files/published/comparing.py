"""Compare two published versions in words: which tasks, and in them which criterion, step or record."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import orjson

from clerkship.model.dataset import Dataset
from clerkship.model.path import MISSING
from clerkship.model.run import find_differences
from clerkship.suite_files.published.archive import Archive
from clerkship.suite_files.published.manifest import TaskInfo

_NOT_COMPARED = frozenset({"name", "criteria", "scenario", "entities", "for_each", "environment", "solution", "tags"})
"""Keys of a task that are compared by their parts, or that say nothing by themselves."""
_BENCHMARK_KEYS = (
    *("name", "description", "timeout", "concurrency", "gate_axes", "axes"),
    *("licence", "authors", "limits"),
)
MAX_NAMED = 3
"""Changes of one part, or records of a dataset, that are described; further ones are counted."""
MAX_LINE_NAME = 80
"""Bytes of a record that is not JSON, of which the first word is shown as its name."""
_ABSENT = repr(MISSING)


class VersionDifference(NamedTuple):
    """One difference, with the task, environment or dataset in which it is; empty if it is of the whole."""

    place: str
    text: str

    def __str__(self) -> str:
        """Return it as one sentence."""
        return f"{self.place}: {self.text}" if self.place else self.text


def compare_archives(before: Archive, after: Archive) -> list[str]:
    """Return the differences, one sentence each; none if both have the same content."""
    return list(map(str, list_differences(before, after)))


def list_differences(before: Archive, after: Archive) -> list[VersionDifference]:
    """Return the differences, those of the whole first; none if both have the same content."""
    differences = dict.fromkeys(_Comparison(before, after).list_differences())
    return sorted(differences, key=lambda each: bool(each.place))


@dataclass(frozen=True)
class _Comparison:
    before: Archive
    after: Archive

    def list_differences(self) -> Iterator[VersionDifference]:
        old, new = self.before.manifest, self.after.manifest
        for text in _describe_value("grading version", old.grading, new.grading):
            yield VersionDifference("", text)
        for text in _describe_value("for agents, without criteria and solutions", old.for_agents, new.for_agents):
            yield VersionDifference("", text)
        for key in _BENCHMARK_KEYS:
            for text in _describe_value(key, getattr(old.benchmark, key), getattr(new.benchmark, key)):
                yield VersionDifference("benchmark", text)
        yield from (VersionDifference("", text) for text in self._compare_files())
        yield from self._compare_environments()
        yield from self._compare_datasets()
        yield from self._compare_tasks()

    def _compare_tasks(self) -> Iterator[VersionDifference]:
        old = {info.name: info for info in self.before.manifest.tasks}
        new = {info.name: info for info in self.after.manifest.tasks}
        removed = {name: self._get_nameless(self.before, old[name]) for name in old if name not in new}
        added = {name: self._get_nameless(self.after, new[name]) for name in new if name not in old}
        for text in _describe_names("task", removed, added):
            yield VersionDifference("", text)
        for name, task in old.items():
            if name in new:
                yield from (VersionDifference(name, text) for text in self._compare_task(task, new[name]))

    def _get_nameless(self, archive: Archive, info: TaskInfo) -> dict[str, Any]:
        data = _read(archive, info.entry)
        task: dict[str, Any] = data["task"]
        return {**{key: data[key] for key in ("entities", "solution")}, **task, "name": ""}

    def _compare_task(self, old: TaskInfo, new: TaskInfo) -> Iterator[str]:
        if self._is_same(old.entry, new.entry) and self._is_same(old.variants, new.variants):
            return
        before, after = _read(self.before, old.entry), _read(self.after, new.entry)
        yield from _describe_value("environment", old.environment, new.environment)
        yield from _compare_contents(before["task"], after["task"])
        yield from _compare_entities(before["entities"], after["entities"])
        if before["solution"] != after["solution"]:
            yield f"its solution was {_name_change(before['solution'], after['solution'])}"
        yield from self._compare_variants(old, new)

    def _compare_variants(self, old: TaskInfo, new: TaskInfo) -> Iterator[str]:
        before = _read(self.before, old.variants) if old.variants else {}
        after = _read(self.after, new.variants) if new.variants else {}
        for key, title in (("wrong", "wrong solution"), ("ways", "other way")):
            yield from _compare_named(title, before.get(key, ()), after.get(key, ()), "name")

    def _compare_environments(self) -> Iterator[VersionDifference]:
        old, new = self.before.manifest.environments, self.after.manifest.environments
        for text in _describe_names("environment", _without(old, new), _without(new, old)):
            yield VersionDifference("", text)
        for name, entry in old.items():
            if name in new and not self._is_same(entry, new[name]):
                before, after = _read(self.before, entry), _read(self.after, new[name])
                for text in _list_changes(before["environment"], after["environment"]):
                    yield VersionDifference(f"environment {name}", text)

    def _compare_datasets(self) -> Iterator[VersionDifference]:
        old = {info.name: info.entry for info in self.before.manifest.datasets}
        new = {info.name: info.entry for info in self.after.manifest.datasets}
        for text in _describe_names("dataset", _without(old, new), _without(new, old)):
            yield VersionDifference("", text)
        for name, entry in old.items():
            if name in new and not self._is_same(entry, new[name]):
                for text in _compare_records(self.before.read(entry), self.after.read(new[name])):
                    yield VersionDifference(f"dataset {name}", text)

    def _compare_files(self) -> Iterator[str]:
        before, after = self.before.manifest, self.after.manifest
        if not self._is_same(before.conftest, after.conftest):
            yield f"the conftest was {_name_change(before.conftest, after.conftest)}"
        for title, old, new in (
            ("prompt", before.prompts, after.prompts),
            ("recording", before.recordings, after.recordings),
        ):
            for name in sorted({*old, *new}):
                if not self._is_same(old.get(name, ""), new.get(name, "")):
                    yield f"{title} {_name_change(name in old, name in new)}: {name}"

    def _is_same(self, old: str, new: str) -> bool:
        before, after = self.before.manifest.entries.get(old), self.after.manifest.entries.get(new)
        return before == after


def _read(archive: Archive, entry: str) -> dict[str, Any]:
    data: dict[str, Any] = orjson.loads(archive.read(entry))
    return data


def _without(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, object]:
    return {name: name for name in one if name not in other}


def _compare_contents(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences of two tasks of the same name."""
    yield from _compare_named("criterion", old["criteria"], new["criteria"], "label")
    before, after = old["scenario"] or {}, new["scenario"] or {}
    yield from _compare_steps(before.get("steps") or (), after.get("steps") or ())
    yield from _list_changes({**before, "steps": None}, {**after, "steps": None}, "scenario.")
    others = sorted({*old, *new} - _NOT_COMPARED)
    yield from _list_changes({key: old.get(key) for key in others}, {key: new.get(key) for key in others})
    if old["task_item"] == new["task_item"] and orjson.dumps(old["task_item"]) != orjson.dumps(new["task_item"]):
        yield "task_item: the order of its keys changed"  # an agent receives them in order
    yield from (f"tag added: {tag}" for tag in new["tags"] if tag not in old["tags"])
    yield from (f"tag removed: {tag}" for tag in old["tags"] if tag not in new["tags"])


def _compare_named(title: str, old: Sequence[Any], new: Sequence[Any], key: str) -> Iterator[str]:
    """Yield the differences of two lists of things that have names, such as criteria."""
    before, after = _index(old, key), _index(new, key)
    nameless = [
        {name: {**each, key: ""} for name, each in one.items() if name not in other}
        for one, other in ((before, after), (after, before))
    ]
    yield from _describe_names(title, *nameless)
    for name, value in before.items():
        changes = list(_list_changes(value, after[name])) if name in after else []
        if changes:
            yield f"{title} `{name}` changed: {_join(each.removeprefix('assertion.') for each in changes)}"
    if [name for name in before if name in after] != [name for name in after if name in before]:
        yield f"{title}: the order changed"


def _index(items: Iterable[Any], key: str) -> dict[str, Any]:
    """Return items by name; a name that is used again gets a number."""
    indexed: dict[str, Any] = {}
    count: Counter[str] = Counter()
    for item in items:
        count[item[key]] += 1
        number = f" ({count[item[key]]})" if count[item[key]] > 1 else ""
        indexed[f"{item[key]}{number}"] = item
    return indexed


def _describe_names(title: str, removed: Mapping[str, object], added: Mapping[str, object]) -> Iterator[str]:
    """Yield what was removed, added or, where only the name differs, renamed."""
    left = dict(added)
    for name, value in removed.items():
        renamed = next((other for other, content in left.items() if content == value), None)
        if renamed is None:
            yield f"{title} removed: {name}"
        else:
            del left[renamed]
            yield f"{title} renamed: {name} → {renamed}"
    yield from (f"{title} added: {name}" for name in left)


def _compare_steps(old: Sequence[Any], new: Sequence[Any]) -> Iterator[str]:
    """Yield the steps that were added, removed or changed, by their number in the version that has them."""
    old_keys, new_keys = ([orjson.dumps(step, option=orjson.OPT_SORT_KEYS) for step in each] for each in (old, new))
    matcher = SequenceMatcher(None, old_keys, new_keys, autojunk=False)
    for action, start, end, new_start, new_end in matcher.get_opcodes():
        pairs = min(end - start, new_end - new_start) if action == "replace" else 0
        for number in range(pairs):
            before, after = old[start + number], new[new_start + number]
            if _name_step(before) != _name_step(after):
                yield f"step {start + number + 1}: {_name_step(before)} → {_name_step(after)}"
                continue
            changes = (each.removeprefix(f"{_name_step(after)}.") for each in _list_changes(before, after))
            yield f"step {new_start + number + 1} ({_name_step(after)}) changed: {_join(changes)}"
        if action != "equal":
            yield from (f"step {n + 1} removed: {_name_step(old[n])}" for n in range(start + pairs, end))
            yield from (f"step {n + 1} added: {_name_step(new[n])}" for n in range(new_start + pairs, new_end))


def _name_step(step: Mapping[str, Any]) -> str:
    return next((key for key in step if "." in key), next(iter(step), ""))


def _compare_entities(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if before is None or after is None:
            yield f"record {_name_change(before, after)}: {name}"
        elif _name_record(before) != _name_record(after):
            yield f"record `{name}` is another one: {_name_record(before)} → {_name_record(after)}"
        else:
            yield f"record `{name}` ({_name_record(after)}) changed: {_join(_list_changes(before, after))}"


def _compare_records(old: bytes, new: bytes) -> Iterator[str]:
    """Yield which records and files of a dataset were added, removed or changed."""
    before, after = _split_dataset(old), _split_dataset(new)
    removed, added = _without_values(before, after), _without_values(after, before)
    groups = {
        "added": [name for name in added if name not in before],
        "removed": [name for name in removed if name not in after],
        "changed": [name for name in added if name in before],
    }
    for change, names in groups.items():
        if names:
            more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
            shown = ", ".join(names[:MAX_NAMED])
            yield f"{len(names):,} record{'s' * (len(names) != 1)} {change}: {shown}{more}"
    if not any(groups.values()):
        yield "the order of its records changed"


def _without_values(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> list[str]:
    return [name for name, value in one.items() if other.get(name) != value]


def _split_dataset(data: bytes) -> dict[str, bytes]:
    """Return the records and files of a dataset by name."""
    dataset = Dataset.parse("dataset", data)
    lines = dataset.lines if dataset.lines is not None else map(orjson.dumps, dataset.content()["records"])
    records: dict[str, bytes] = {}
    for number, line in enumerate(lines, 1):
        name = _name_line(line) or f"number {number}"
        records[name if name not in records else f"{name} ({number})"] = line
    return {**records, **dataset.files}


def _name_line(line: bytes) -> str:
    if not line.startswith(b"{"):
        return line[:MAX_LINE_NAME].partition(b" ")[0].decode(errors="replace")
    try:
        return _name_record(orjson.loads(line))
    except orjson.JSONDecodeError:
        return ""


def _name_record(record: Any) -> str:
    """Return what a record is called, such as `Patient/pat-0001`; empty if it has neither id nor name."""
    if not isinstance(record, dict):
        return ""
    name = record.get("id") or record.get("name") or ""
    return "/".join(str(part) for part in (record.get("resourceType"), name) if part) if name else ""


def _list_changes(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the values that differ in two maps, with their paths."""
    compared = find_differences({"": old}, {"": new})
    for path, before, after in ((each.path.lstrip("."), each.expected, each.actual) for each in compared.first):
        place = f"{prefix}{path}"
        if _ABSENT in (before, after):
            change = _name_change(before != _ABSENT, after != _ABSENT)
            yield f"{place} {change}: {_show(before if after == _ABSENT else after)}"
        else:
            yield f"{place}: {_show(before)} → {_show(after)}"
    if compared.left_out:
        yield f"{prefix}{compared.left_out} more changes"


def _join(changes: Iterable[str]) -> str:
    """Return the first changes, and how many more there are."""
    texts = list(changes)
    more = [f"{len(texts) - MAX_NAMED} more"] if len(texts) > MAX_NAMED else []
    return "; ".join([*texts[:MAX_NAMED], *more])


def _name_change(old: object, new: object) -> str:
    return "removed" if not new else "added" if not old else "changed"


def _describe_value(title: str, old: Any, new: Any) -> Iterator[str]:
    if old != new:
        yield f"{title}: {_show(old)} → {_show(new)}"


def _show(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value in (None, "") else str(value)
