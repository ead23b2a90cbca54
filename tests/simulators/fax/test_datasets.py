"""Datasets of type fax_texts: the words of pages by page hash."""

from pathlib import Path

import pytest

from clerkship.formats.fax_pages.page import PageWord, PageWords
from clerkship.model.dataset import Dataset
from clerkship.simulators.fax.datasets import ShippedTexts, read_fax_texts, write_fax_texts
from clerkship.suite_files.source import Unreadable

ONE, OTHER = "1" * 64, "a" * 64
WORDS = PageWords(
    words=(
        PageWord(text="Müller", left=150, top=100, width=84, height=24),
        PageWord(text='"E11.65"', left=150, top=140, width=90, height=24, line=1),
    )
)


def test_a_file_has_one_page_a_line_and_gives_the_same_words(tmp_path: Path) -> None:
    path = tmp_path / "texts.json"
    path.write_bytes(write_fax_texts([(OTHER, WORDS), (ONE, PageWords())]))
    assert read_fax_texts(path) == {ONE: PageWords(), OTHER: WORDS}
    assert [line[:5] for line in path.read_text().splitlines()] == ["{", '"1111', '"aaaa', "}"]


def test_an_empty_file_has_no_pages(tmp_path: Path) -> None:
    path = tmp_path / "texts.json"
    path.write_bytes(write_fax_texts([]))
    assert read_fax_texts(path) == {}


def test_the_last_dataset_with_a_page_wins(tmp_path: Path) -> None:
    line = f'{ONE} [["old",1,2,3,4,0]]'.encode()
    new = f'{ONE} [["new",1,2,3,4,0]]'.encode()
    datasets = [Dataset(name=text.decode()[-20:], type="fax_texts", lines=(text,)) for text in (line, new)]
    assert ShippedTexts(datasets)[ONE].text == "new"
    assert OTHER not in ShippedTexts(datasets)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("[]", "expected an object: page hash -> words"),
        ('{"abc": []}', "'abc' is not the hash of a page"),
        (f'{{"{ONE.replace("1", "G")}": []}}', "is not the hash of a page"),
        (f'{{"{ONE}": {{}}}}', "expected a list"),
        (f'{{"{ONE}": [["word", 1, 2, 3]]}}', r"word 0: expected \[text, left, top, width, height, line\]"),
        (f'{{"{ONE}": [["word", 1, 2, 3, 4, true]]}}', "word 0"),
        (f'{{"{ONE}": [["word", 1, 2, 3, 4, 0], [7, 1, 2, 3, 4, 0]]}}', "word 1"),
    ],
)
def test_a_mistake_in_a_file_says_where_it_is(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "texts.json"
    path.write_text(content)
    with pytest.raises(Unreadable, match=message):
        read_fax_texts(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="No such file"):
        read_fax_texts(tmp_path / "texts.json")
