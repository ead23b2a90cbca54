"""Describe a published version: what it tests and needs, and who scored what on it."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from clerkship.kit.extras import is_installed
from clerkship.model.snapshot import GRADING_VERSION
from clerkship.model.task import LEVELS
from clerkship.suite_files.published.archive import Archive
from clerkship.suite_files.published.reading import is_package_installed
from clerkship.suite_files.published.results import VersionResults, read_results


@dataclass(frozen=True, eq=False)
class VersionCard:
    """What users of a published version should know, read from its archive and its results files."""

    archive: Archive
    results: VersionResults
    signature: str

    @cached_property
    def interfaces(self) -> dict[str, int]:
        """The kinds of sandboxes, each with the number of tasks that have one."""
        manifest = self.archive.manifest
        environments = {
            name: {each["kind"] for each in self._read(entry)["environment"]["simulators"].values()}
            for name, entry in manifest.environments.items()
        }
        counts = Counter(kind for task in manifest.tasks for kind in environments[task.environment])
        return dict(sorted(counts.items()))

    @cached_property
    def axes(self) -> dict[str, int]:
        """The axes, each with its number of criteria; criteria without an axis are under an empty name."""
        criteria = [each for task in self.archive.manifest.tasks for each in self._read(task.entry)["task"]["criteria"]]
        counts = Counter(each["axis"] or "" for each in criteria)
        return {axis: counts[axis] for axis in sorted({*counts, *self.archive.manifest.benchmark.axes})}

    @property
    def levels(self) -> dict[str, int]:
        """The levels that tasks have as tags, each with its number of tasks."""
        return {level: count for level in LEVELS if (count := self._tag_counts[level])}

    @property
    def tags(self) -> dict[str, int]:
        """All other tags, each with its number of tasks, the most frequent first."""
        counts = sorted(self._tag_counts.items(), key=lambda item: (-item[1], item[0]))
        return {tag: count for tag, count in counts if tag not in LEVELS}

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """The extras and plug-ins that it needs and that are not installed."""
        manifest = self.archive.manifest
        extras = [f"clerkship[{extra}]" for extra in manifest.extras if not is_installed(extra)]
        return (*extras, *(name for name in manifest.plugins if not is_package_installed(name)))

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self.archive.path.stat().st_size

    def data(self) -> dict[str, Any]:
        """Return the card as JSON data."""
        manifest, benchmark = self.archive.manifest, self.archive.manifest.benchmark
        return {
            "name": manifest.name,
            "title": benchmark.name,
            "description": benchmark.description,
            "withdrawn": self.results.withdrawn,
            "for_agents": manifest.for_agents,
            "tasks": len(manifest.tasks),
            "interfaces": self.interfaces,
            "axes": self.axes,
            "levels": self.levels,
            "tags": self.tags,
            **{key: getattr(benchmark, key) for key in ("licence", "authors", "limits", "timeout")},
            "extras": manifest.extras,
            "plugins": manifest.plugins,
            "missing": self.missing,
            "grading": manifest.grading,
            "program_grading": GRADING_VERSION,
            "signature": self.signature,
            "digest": f"sha256:{self.archive.digest}",
            "complete": f"sha256:{manifest.complete}" if manifest.complete else None,
            "path": self.archive.path,
            "bytes": self.size,
            "scores": self.results.scores,
        }

    @cached_property
    def _tag_counts(self) -> Counter[str]:
        return Counter(tag for task in self.archive.manifest.tasks for tag in set(task.tags))

    def _read(self, entry: str) -> dict[str, Any]:
        data: dict[str, Any] = orjson.loads(self.archive.read(entry))
        return data


def build_card(archive: Archive, signature: str) -> VersionCard:
    """Return the card of a version."""
    return VersionCard(archive, read_results(archive), signature)
