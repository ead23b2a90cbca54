"""An archive with random changes is refused, or it is the same library."""

from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.model.errors import InputError
from clerkship.suite_files.datasets import ALL_TASKS
from clerkship.suite_files.library import Library
from clerkship.suite_files.published.archive import open_built
from clerkship.suite_files.published.reading import ArchiveLoader
from clerkship.suite_files.published.signing import create_key_pair
from tests.examples import examples
from tests.suite_files.small_archive import pack_contents, publish_suite, read_contents, write_suite

PATH = Path("note.clerkship")
PLACE = st.floats(0, 1, exclude_max=True)
FLIP = st.tuples(st.just("flip"), PLACE, st.integers(1, 255))
CUT = st.tuples(st.just("cut"), PLACE, st.integers(1, 400))
REPEAT = st.tuples(st.just("repeat"), PLACE, st.integers(1, 400))
Change = tuple[str, float, int]
VALUES: list[Any] = [
    None,
    0,
    -1,
    1e308,
    2**63,
    True,
    "",
    "x",
    "../x",
    "\x00",
    [],
    {},
    [[]],
    {"a": 1},
    [None],
    "9" * 300,
]


@cache
def build_signed() -> bytes:
    """Return a small signed archive."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        create_key_pair(root / "key.pem")
        return publish_suite(write_suite(root / "suite"), root / "to", sign=root / "key.pem")[0].path.read_bytes()


def load(data: bytes) -> Library:
    """Return the library of an archive of which every entry was read."""
    archive = open_built(PATH, data)
    archive.check()
    return ArchiveLoader(archive).load(ALL_TASKS)


def change_bytes(data: bytes, change: Change) -> bytes:
    """Return data with one byte changed, or some bytes cut out or repeated."""
    kind, place, value = change
    at = int(place * len(data))
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ value]) + data[at + 1 :] if data else data
    return data[:at] + (data[at : at + value] * 2 if kind == "repeat" else b"") + data[at + value :]


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.one_of(FLIP, CUT, REPEAT), min_size=1, max_size=3))
def test_changed_archive_is_refused_or_the_same_library(changes: list[Change]) -> None:
    data = original = build_signed()
    for change in changes:
        data = change_bytes(data, change)
    try:
        library = load(data)
    except InputError:
        return
    assert library == load(original)


def replace_value(data: Any, place: float, value: Any) -> None:
    """Replace one value in nested data."""
    places = [
        (holder, key) for holder in walk(data) for key in (holder if isinstance(holder, dict) else range(len(holder)))
    ]
    holder, key = places[int(place * len(places))]
    holder[key] = value


def walk(data: Any) -> list[Any]:
    """Return all maps and lists with something in them."""
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return ([data] if inner else []) + [each for item in inner for each in walk(item)]


@settings(max_examples=examples(1_000), deadline=None)
@given(st.lists(st.tuples(PLACE, PLACE, st.sampled_from(VALUES)), min_size=1, max_size=2))
def test_crafted_content_with_hashes_that_fit_is_refused_or_a_library(changes: list[tuple[float, float, Any]]) -> None:
    contents = read_contents(build_signed())
    del contents["signature.json"]
    names = [name for name in sorted(contents) if not name.startswith("sources/")]
    for which, place, value in changes:
        name = names[int(which * len(names))]
        data = contents[name]
        data = orjson.loads(data) if isinstance(data, bytes) else data
        replace_value(data, place, deepcopy(value))
        contents[name] = orjson.dumps(data) if name.startswith("datasets/") else data
    try:
        library = load(pack_contents(contents))
    except InputError:
        return
    assert all(library.snapshot(task, 1).data for task in library.tasks.values())
