"""An archive with random changes is refused, or it is the same library."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.model.errors import InputError
from clerkship.suite_files.datasets import ALL_TASKS
from clerkship.suite_files.library import Library
from clerkship.suite_files.published.archive import open_built
from clerkship.suite_files.published.reading import ArchiveLoader
from clerkship.suite_files.published.signing import create_key_pair
from tests.examples import examples
from tests.suite_files.small_archive import publish_suite, write_suite

PATH = Path("note.clerkship")
PLACE = st.floats(0, 1, exclude_max=True)
FLIP = st.tuples(st.just("flip"), PLACE, st.integers(1, 255))
CUT = st.tuples(st.just("cut"), PLACE, st.integers(1, 400))
REPEAT = st.tuples(st.just("repeat"), PLACE, st.integers(1, 400))
Change = tuple[str, float, int]


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
