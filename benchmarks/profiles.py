"""Show where the time of trials, requests and messages goes: the shares of the largest parts of the code.

    python -m benchmarks.profiles

The profiler watches every thread, in processor time. A built-in function counts for the library it belongs to, or else
for the module that calls it. Profiling makes short functions look dearer than they are.
"""

import cProfile
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

from benchmarks import feeds_mllp, fhir, messages_hooks, overhead
from benchmarks.fhir_work import chart, works
from benchmarks.table import print_table

SHOWN = 7
LIBRARIES = {"sqlite3": "SQLite", "orjson": "orjson", "sha256": "SHA-256", "hashlib": "SHA-256", "pydantic": "pydantic"}
"""What a file or a built-in function is part of, by a word in its name."""
GROUPS = ("formats", "simulators", "transports")
"""Packages whose folders are shown one by one."""


class ThreadProfiles:
    """The profiles of this thread and of all that start meanwhile."""

    def __init__(self) -> None:
        self._profiles: list[cProfile.Profile] = []

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Profile for the time of a `with` block."""
        threading.setprofile(self._begin)
        self._begin()
        try:
            yield
        finally:
            self._profiles[0].disable()
            threading.setprofile(None)

    def _begin(self, *_: object) -> None:
        profile = cProfile.Profile(time.thread_time)
        self._profiles.append(profile)
        profile.enable()

    def sum_parts(self) -> dict[str, float]:
        """Return the seconds of each part of the code."""
        parts: defaultdict[str, float] = defaultdict(float)
        for entry in (entry for profile in self._profiles for entry in profile.getstats()):
            if isinstance(entry.code, CodeType):
                parts[name_part(entry.code.co_filename)] += entry.inlinetime
                for called in entry.calls or ():
                    if isinstance(called.code, str):
                        part = find_library(called.code) or name_part(entry.code.co_filename)
                        parts[part] += called.inlinetime
        return parts


def find_library(name: str) -> str | None:
    """Return the library of a file or a built-in function, if it is one that is shown by itself."""
    return next((library for word, library in LIBRARIES.items() if word in name), None)


def name_part(file: str) -> str:
    """Return the part of the code that a file belongs to: a package of ours, a library, or the rest."""
    _, found, own = file.rpartition("/src/clerkship/")
    if not found:
        return find_library(file) or ("asyncio" if "/asyncio/" in file else "other libraries")
    package, *rest = own.split("/")
    return f"`{package}/{rest[0].removesuffix('.py')}`" if package in GROUPS else f"`{package.removesuffix('.py')}`"


def profile(work: Callable[[], object]) -> str:
    """Return the shares of the largest parts of some work, after a first round that fills caches."""
    work()
    profiles = ThreadProfiles()
    with profiles.watch():
        work()
    parts = profiles.sum_parts()
    largest = sorted(parts, key=lambda part: -parts[part])[:SHOWN]
    return ", ".join(f"{part} {parts[part] / sum(parts.values()):.0%}" for part in largest)


def send_messages(*, chart: bool) -> None:
    """Send messages over MLLP for a second."""
    with feeds_mllp.open_ours(1, chart=chart) as site:
        feeds_mllp.drive(site, 1, 1.0)


def rows() -> Iterator[tuple[str, str]]:
    """Profile everything that has an aim beside another program."""
    with tempfile.TemporaryDirectory() as folder:
        yield "three-turn conversation", profile(lambda: overhead.ours(300, Path(folder)))
    site = fhir.Site(chart(1_000))
    for name, rounds in {"read": 1_000, "search by token": 500, "create": 300, "transaction of 650 KB": 1}.items():
        request = fhir.request_of(works(1_000)[name])

        def send() -> None:
            handle = site.handle(site.fork())
            for _ in range(rounds):  # noqa: B023  (called at once)
                assert handle.send_as_is(request).ok  # noqa: B023

        yield f"FHIR {name}, in process", profile(send)
    site.listener.close()
    yield "ORU over MLLP, with its client", profile(lambda: send_messages(chart=False))
    yield "… filed in the chart", profile(lambda: send_messages(chart=True))
    yield "CDS hook, with its service", profile(lambda: messages_hooks.fire_all(100, {}))


def main() -> None:
    """Print the table."""
    print_table(("what", "largest parts of its time"), rows())


if __name__ == "__main__":
    main()
