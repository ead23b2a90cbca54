"""`fax_text`: pages that the agent faxed have a text word by word, and nothing else."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.fax.assertions.fax_match import FaxMatch, PageNumbers, list_page_numbers
from clerkship.simulators.fax.assertions.logged import LoggedFax, list_sent_faxes
from clerkship.simulators.fax.assertions.page_search import PageReader, PageText, narrow_faxes, open_reader
from clerkship.text.folding import fold

MAX_MISREAD = 8
"""Letters and digits in one place that OCR may read wrongly, leave out or see in noise."""
MAX_SHOWN = 60
_WORDS = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+")
_ALIKE = str.maketrans("oqil|sbzg", "001115826")
"""Letters that an engine reads for digits, and the other way round."""


class FaxHasText(Assertion, FaxMatch):
    """A fax that the agent sent, and that was delivered, has this text on its pages, word by word, and no other words.
    Case, spaces, line breaks and punctuation are free, and the line at the top does not count. Where the words are read
    by OCR, a few letters in one place may differ.
    """

    name: ClassVar[str] = "fax_text"
    simulator: ClassVar[str | None] = "fax"
    scoped: ClassVar[bool] = True
    text: Annotated[str, Field(min_length=1, description="all that is on the pages")]
    page: Annotated[
        PageNumbers,
        Field(description="only this page, or these pages, of the fax, from 1; all by default"),
    ] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if not _split(self.text):
            raise ValueError("`text`: expected a letter or a digit")
        return self

    def check(self, evidence: Evidence) -> Check:
        """Compare the words of each fax; one that has the text is enough."""
        limits, reader = self.find_limits(evidence), open_reader(evidence)
        rows = [
            self._compare(reader, fax)
            for fax in narrow_faxes(evidence, list_sent_faxes(evidence, self.sandbox))
            if all(row.passed for row in self.compare_properties(fax, limits))
            and self.compare_status(fax, "delivered").passed
        ]
        if not rows:
            row = FieldCheck(path="faxes", expected={"gte": 1}, actual=0, passed=False)
            return Check.of(False, f"the agent sent no fax{self.describe_conditions()} that was delivered", row)
        best = next((row for row in rows if row.passed), rows[0])
        return Check.of(best.passed, f"{best.path}: {best.actual}", best)

    def _compare(self, reader: PageReader, fax: LoggedFax) -> FieldCheck:
        numbers = list_page_numbers(self.page)
        pages = [page for page in fax.received_pages if not numbers or page.number in numbers]
        texts = [reader.read(fax.event.source, page) for page in pages]
        differences = list(_compare_words(self.text, texts))
        actual = "; ".join(differences[:3]) or "word by word"
        path, seq = fax.describe(), fax.event.seq
        return FieldCheck(path=path, expected="word by word", actual=actual, passed=not differences, seq=seq)


def _compare_words(text: str, pages: Sequence[PageText]) -> Iterator[str]:
    """Yield each place where the words of the pages differ from a text."""
    is_true = all(page.is_true for page in pages)
    wanted, written = _split(text), _split(" ".join(page.get_body_text() for page in pages))
    if is_true and "".join(wanted) == "".join(written):  # a long word may be on two lines
        return
    left, right = (words if is_true else [_to_ocr_letters(word) for word in words] for words in (wanted, written))
    for kind, start, end, from_, to in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "equal" or (not is_true and _is_misread("".join(left[start:end]), "".join(right[from_:to]))):
            continue
        missing, added = (" ".join(words)[:MAX_SHOWN] for words in (wanted[start:end], written[from_:to]))
        yield " ".join(f"{name}: `{words}`" for name, words in (("missing", missing), ("added", added)) if words)


def _is_misread(wanted: str, written: str) -> bool:
    """Return whether an engine may read some letters for others."""
    equal = sum(block.size for block in SequenceMatcher(None, wanted, written, autojunk=False).get_matching_blocks())
    return max(len(wanted), len(written)) - equal <= MAX_MISREAD


def _split(text: str) -> list[str]:
    """Return the words of a text without case and punctuation; the point in 6.8 is none."""
    return _WORDS.findall(fold(text).casefold())


def _to_ocr_letters(word: str) -> str:
    return word.translate(_ALIKE)
