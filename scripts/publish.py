"""Publish the shipped suites: build the archives that are installed with the package, and check their digests.

uv run --group dev python -m scripts.publish [--update] [fax ...]

`suites/published.json` has the digest of each version. An archive is not in the repository until it is released: then
`released` is true there, and the archive of that version is added to `src/clerkship/shipped` and never built again.
"""

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter

from clerkship.engine.catalog import RegisteredCatalog, build_catalog_without_plugins
from clerkship.kit.atomic_write import write_atomically
from clerkship.model.errors import InputError
from clerkship.model.frozen import Frozen
from clerkship.service.publishing import MAX_NAMED_CHANGES, PublishRequest, prepare
from clerkship.suite_files.library import Library
from clerkship.suite_files.load import load_library
from clerkship.suite_files.published.archive import Archive, build_archive, open_archive, open_built
from clerkship.suite_files.published.comparing import compare_archives
from clerkship.suite_files.published.places import PACKED_SUFFIX
from clerkship.suite_files.published.writing import freeze_library

ROOT = Path(__file__).resolve().parent.parent
SUITES = ROOT / "suites"
SHIPPED = ROOT / "src" / "clerkship" / "shipped"
DIGESTS = "published.json"


class Recorded(Frozen):
    """What is recorded of a published version."""

    digest: str
    released: bool = False


_RECORDS = TypeAdapter(dict[str, Recorded])


@dataclass(frozen=True)
class ShippedSuites:
    """The suites of a folder, with their recorded digests, and the folder of their archives."""

    suites: Path = SUITES
    shipped: Path = SHIPPED
    catalog: RegisteredCatalog = field(default_factory=build_catalog_without_plugins)
    records: dict[str, Recorded] = field(init=False)

    def __post_init__(self) -> None:
        file = self.suites / DIGESTS
        object.__setattr__(self, "records", _RECORDS.validate_json(file.read_bytes()) if file.exists() else {})

    def list_names(self) -> list[str]:
        """Return the names of the suites, which are folders with a `benchmark.yml`."""
        return sorted(path.parent.name for path in self.suites.glob("*/benchmark.yml"))

    def publish(self, names: Iterable[str] = (), *, update: bool = False) -> list[str]:
        """Build the archives of suites, and write those that have their digest. Return what is wrong with the others.

        With `update`, other digests of versions that are not released are recorded.
        """
        with tempfile.TemporaryDirectory() as cache:  # most suites have the same dataset
            problems = [self._publish(name, Path(cache), update=update) for name in names or self.list_names()]
        if update:
            self._save_records()
        for path in self.shipped.glob(f"*{PACKED_SUFFIX}"):
            if path.name.removesuffix(PACKED_SUFFIX) not in self.records:
                path.unlink()
        return [problem for problem in problems if problem]

    def _publish(self, name: str, cache: Path, *, update: bool) -> str:
        """Write the archive of a suite if it has its digest. Return what is wrong, or an empty text."""
        try:
            archive, data = self.build(load_library(self.suites / name, self.catalog, cache=cache))
        except InputError as error:
            return f"suites/{name} has mistakes: {error}"
        problem = self.find_problem(name, archive)
        version = archive.manifest.name
        record = self.records.get(version, Recorded(digest=""))
        if problem and update and not record.released:
            self.records[version], problem = Recorded(digest=archive.digest), ""
        if not problem and not record.released:
            self._write(version, data)
        return problem

    def check_released(self) -> list[str]:
        """Return the released versions whose archives are not there, or have another digest."""
        problems = []
        for version, record in self.records.items():
            path = self._get_path(version)
            if record.released and not (path.exists() and open_archive(path).digest == record.digest):
                problems.append(f"{version} is released, but {path} is not there or has another digest")
        return problems

    def build(self, library: Library) -> tuple[Archive, bytes]:
        """Return the archive of a suite as it is now, and its bytes."""
        request = PublishRequest(path=library.root, cassettes=any(library.root.rglob("cassettes")))
        tasks, publication = prepare(library, request, self.catalog)
        version = f"{publication.benchmark.slug}@{publication.benchmark.version}"
        if self._is_released(version):  # it was published with the grading of that time
            publication = replace(publication, grading=open_archive(self._get_path(version)).manifest.grading)
        manifest, entries = freeze_library(library, tasks, publication)
        data = build_archive(manifest, entries)
        return open_built(self._get_path(version), data), data

    def find_problem(self, name: str, built: Archive) -> str:
        """Return how the content of a suite differs from its recorded version; an empty text if it is the same."""
        version = built.manifest.name
        record = self.records.get(version)
        if record is None:
            return f"suites/{name}: {version} has no digest in suites/{DIGESTS}; run `make publish ARGS=--update`"
        if record.digest == built.digest:
            return ""
        differences = self._describe_differences(built, record.digest)
        if not record.released:
            return f"suites/{name} differs from {version}{differences}; run `make publish ARGS=--update`"
        if not differences:  # only the form differs, as after a change of this program
            return ""
        following = built.manifest.version + 1
        return (
            f"suites/{name} differs from {version}{differences}; {version} is released, so write `version: "
            f"{following}` in suites/{name}/benchmark.yml, and run `make publish ARGS=--update`"
        )

    def _describe_differences(self, built: Archive, digest: str) -> str:
        """Return the differences from the archive with the recorded digest in words, if it is there."""
        path = self._get_path(built.manifest.name)
        old = open_archive(path) if path.exists() else None
        if old is None or old.digest != digest:
            return ": its archive is not there to compare with"
        differences = compare_archives(old, built)
        more = len(differences) - MAX_NAMED_CHANGES
        shown = "; ".join(differences[:MAX_NAMED_CHANGES]) + (f"; and {more} more" if more > 0 else "")
        return f": {shown}" if shown else ""

    def _is_released(self, version: str) -> bool:
        record = self.records.get(version)
        return record is not None and record.released

    def _get_path(self, version: str) -> Path:
        return self.shipped / f"{version}{PACKED_SUFFIX}"

    def _write(self, version: str, data: bytes) -> None:
        self.shipped.mkdir(exist_ok=True)
        write_atomically(self._get_path(version), [gzip.compress(data, mtime=0)])

    def _save_records(self) -> None:
        content: Mapping[str, object] = _RECORDS.dump_python(dict(sorted(self.records.items())))
        (self.suites / DIGESTS).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def publish_shipped(names: Iterable[str] = (), *, update: bool = False) -> list[str]:
    """Publish the suites of this repository into the package. Return what is wrong."""
    suites = ShippedSuites()
    return suites.check_released() or suites.publish(names, update=update)


def main() -> None:
    """Parse the command line, and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="names of suites; default: all")
    parser.add_argument("--update", action="store_true", help="record the digests of versions that are not released")
    options = parser.parse_args()
    problems = publish_shipped(options.suites, update=options.update)
    if problems:
        sys.exit("\n".join(problems))
    for path in sorted(SHIPPED.glob(f"*{PACKED_SUFFIX}")):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
