"""Property tests of uploads: writes in any order, compared with a plain byte array."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clerkship.simulators.files.sftp.upload import Upload, Uploads, UploadTooLarge

WRITES = st.lists(st.tuples(st.integers(0, 60), st.binary(max_size=20)), max_size=30)


def build_upload(base: bytes = b"", *, max_size: int = 1000, room: int = 1000, append: bool = False) -> Upload:
    """Return the only open upload of a drop."""
    upload = Upload("a", max_size, room, Uploads(), append=append)
    upload.load(base)
    return upload


def write_reference(data: bytearray, offset: int, part: bytes) -> None:
    """Write to a byte array as a file system does."""
    if part:
        data.extend(bytes(max(0, offset - len(data))))
        data[offset : offset + len(part)] = part


@given(WRITES, st.one_of(st.none(), st.integers(0, 90)))
def test_writes_in_any_order_give_same_content(writes: list[tuple[int, bytes]], cut: int | None) -> None:
    upload, plain = build_upload(), bytearray()
    for offset, part in writes:
        upload.write(offset, part)
        write_reference(plain, offset, part)
    if cut is not None:
        upload.truncate(cut)
        plain = plain[:cut] + bytes(max(0, cut - len(plain)))
    assert upload.content() == upload.read(0, 1000) == plain
    assert upload.read(7, 11) == plain[7:18]
    assert upload.size == upload.uploads.buffered_bytes == len(plain)
    assert upload.changed == (cut is not None or any(part for _, part in writes))
    upload.release()
    assert upload.uploads == Uploads()


@given(st.binary(max_size=50), WRITES, st.one_of(st.none(), st.integers(0, 60)))
def test_writes_over_existing_file(base: bytes, writes: list[tuple[int, bytes]], cut: int | None) -> None:
    upload, plain = build_upload(base), bytearray(base)
    if cut is not None:
        upload.truncate(cut)
        plain = plain[:cut] + bytes(max(0, cut - len(plain)))
    for offset, part in writes:
        upload.write(offset, part)
        write_reference(plain, offset, part)
    assert upload.content() == plain


@given(st.lists(st.binary(max_size=9), max_size=9), st.binary(max_size=30))
def test_append_writes_at_end(parts: list[bytes], base: bytes) -> None:
    upload = build_upload(base, append=True)
    for part in parts:
        upload.write(3, part)
    assert upload.content() == base + b"".join(parts)


def test_write_over_limit_changes_nothing() -> None:
    upload = build_upload(max_size=100)
    upload.write(0, bytes(90))
    with pytest.raises(UploadTooLarge) as large:
        upload.write(90, bytes(11))
    assert (large.value.size, upload.size, upload.uploads.buffered_bytes) == (101, 90, 90)
    with pytest.raises(UploadTooLarge):
        upload.truncate(101)
    assert (upload.size, upload.uploads.buffered_bytes) == (90, 90)
    upload.release()
    assert (upload.uploads, upload.content()) == (Uploads(), b"")


def test_open_uploads_share_free_space() -> None:
    among = Uploads()
    one, two = (Upload(path, 100, 100, among) for path in "ab")
    one.write(0, bytes(60))
    with pytest.raises(UploadTooLarge):
        two.write(0, bytes(41))
    one.write(60, bytes(40))
    assert among.buffered_bytes == 100


def test_hole_counts_as_zero_bytes() -> None:
    upload = build_upload(max_size=1000, room=500)
    with pytest.raises(UploadTooLarge):
        upload.write(10**11, b"x")
    with pytest.raises(UploadTooLarge):
        upload.write(500, b"x")
    upload.write(499, b"x")
    assert (upload.size, upload.uploads.buffered_bytes) == (500, 500)
    upload.truncate(0)
    assert (upload.size, upload.uploads.buffered_bytes) == (0, 0)


def test_oversized_file_may_be_truncated() -> None:
    upload = Upload("a", 10, 10, Uploads())
    with pytest.raises(UploadTooLarge):
        upload.load(bytes(11))
    upload.load(bytes(10))
    upload.max_size = 5
    upload.truncate(8)
    with pytest.raises(UploadTooLarge):
        upload.write(8, b"x")
    assert upload.content() == bytes(8)
