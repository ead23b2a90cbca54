"""Replace the values of environment variables by `${NAME}`, in every form in which they may appear."""

import base64
import html
import json
import re
import string
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

import orjson

from clerkship.model.quality import Quality
from clerkship.model.run import CriterionRun, FieldCheck, PagePicture, TaskRun

MIN_EXACT_LENGTH = 4
"""Minimum length of a value that is searched for as it is. Shorter values occur by chance."""
MIN_SECRET_LENGTH = 8
"""Minimum length of a value that is searched for in all its forms."""
_LABEL = "${{{}}}"
_EVIDENCE_FIELDS = ("path", "expected", "actual")
"""Fields of a row of evidence, and of a difference in it, that are redacted."""
_BASE64 = frozenset(string.ascii_letters + string.digits + "+/-_")
Replace = Callable[[str], str]


class _Form(NamedTuple):
    """One form of a value. Searching `marker` is fast; `replace` is only called if it is found."""

    marker: str
    replace: Replace


class Redactor:
    """Replaces values by the names of their variables, in texts and in nested data."""

    def __init__(
        self, values: Mapping[str, str], *, shortest: int = MIN_EXACT_LENGTH, variants: bool = True, label: str = _LABEL
    ) -> None:
        known = sorted(((name, value) for name, value in values.items() if len(value) >= shortest), key=_longest_first)
        self._exact: list[_Form] = []
        self._folded: list[_Form] = []
        """Forms that are found in upper, lower or mixed case; their markers are in lower case."""
        for name, value in known:
            if variants and len(value) >= MIN_SECRET_LENGTH:
                self._folded += _build_text_forms(label.format(name), value)
                self._exact += _build_base64_forms(label.format(name), value)
            else:
                self._exact.append(_Form(value, partial(_replace, value=value, name=label.format(name))))

    def __bool__(self) -> bool:
        return bool(self._exact or self._folded)

    def text(self, text: str) -> str:
        """Redact one text."""
        folded = text.lower() if self._folded else ""
        for form in self._folded:
            if form.marker in folded:
                text = form.replace(text)
        for form in self._exact:
            if form.marker in text:
                text = form.replace(text)
        return text

    def data(self, data: Any) -> Any:
        """Redact every text in plain data, keys included; numbers stay as they are."""
        return map_texts(data, self.text)

    def body(self, data: bytes) -> bytes:
        """Redact bytes. Parts that are not UTF-8 stay."""
        if not self._is_in(data):
            return data
        return self.text(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")

    def event(self, event: dict[str, Any]) -> dict[str, Any]:
        """Redact the payload and the request of an event. Time, source, actor and field names stay."""
        parts = (part for part in ("payload", "request") if part in event)
        return event | {part: {field: self.data(value) for field, value in event[part].items()} for part in parts}

    def line(self, line: bytes) -> bytes:
        """Redact one line of a log. A line without any value is returned unchanged, byte by byte."""
        if not self._is_in(line):
            return line
        return orjson.dumps(self.event(orjson.loads(line)))

    def json(self, data: bytes) -> bytes:
        """Redact every text of a JSON document."""
        return orjson.dumps(self.data(orjson.loads(data))) if self._is_in(data) else data

    def _is_in(self, data: bytes) -> bool:
        text = data.decode(errors="surrogateescape") if self else ""
        folded = text.lower()
        return any(form.marker in folded for form in self._folded) or any(form.marker in text for form in self._exact)


def map_texts(data: Any, change: Callable[[str], str]) -> Any:
    """Return plain data with `change` applied to every text, including keys."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, dict):
        return {map_texts(key, change): map_texts(value, change) for key, value in data.items()}
    return [map_texts(value, change) for value in data] if isinstance(data, list | tuple) else data


def build_redactor(values: Mapping[str, str], *, shortest: int = MIN_EXACT_LENGTH, label: str = _LABEL) -> Redactor:
    """Return the redactor for these values; the most recent ones are cached.

    `label` is written in place of a value. Braces in it stand for the name of the variable.
    """
    return _build_redactor(tuple(sorted(values.items())), shortest, label)


@lru_cache(64)
def _build_redactor(values: tuple[tuple[str, str], ...], shortest: int, label: str) -> Redactor:
    return Redactor(dict(values), shortest=shortest, label=label)


def redact_criterion(criterion: CriterionRun, by: Redactor) -> CriterionRun:
    """Redact the detail, the evidence and the pictures of a criterion."""
    rows = tuple(_redact_row(row, by) for row in criterion.evidence)
    texts = {field: by.text(getattr(criterion, field)) for field in ("detail", "traceback")}
    pictures = tuple(_redact_picture(picture, by) for picture in criterion.pictures)
    return criterion.model_copy(update={**texts, "evidence": rows, "pictures": pictures})


def _redact_picture(picture: PagePicture, by: Redactor) -> PagePicture:
    marks = tuple(mark.model_copy(update={"text": by.text(mark.text)}) for mark in picture.marks)
    return picture.model_copy(update={"caption": by.text(picture.caption), "marks": marks})


def _redact_row(row: FieldCheck, by: Redactor) -> FieldCheck:
    shown = {field: by.data(getattr(row, field)) for field in _EVIDENCE_FIELDS}
    differences = tuple(
        difference.model_copy(update={field: by.data(getattr(difference, field)) for field in _EVIDENCE_FIELDS})
        for difference in row.differences
    )
    return row.model_copy(update={**shown, "differences": differences})


def redact_task_run(task_run: TaskRun, by: Redactor) -> TaskRun:
    """Redact a trial's record for display. Fields that identify the trial stay."""
    if not by:
        return task_run
    texts = {field: by.data(getattr(task_run, field)) for field in ("error", "agent_error", "answer")}
    criteria = tuple(
        redact_criterion(criterion, by).model_copy(update={"label": by.text(criterion.label)})
        for criterion in task_run.criteria
    )
    quality = redact_quality(task_run.quality, by) if task_run.quality is not None else None
    return task_run.model_copy(update=texts | {"criteria": criteria, "quality": quality})


def redact_quality(quality: Quality, by: Redactor) -> Quality:
    """Redact the texts that a model wrote about a conversation."""
    ratings = {
        name: rating.model_copy(update={"reason": by.text(rating.reason)}) for name, rating in quality.ratings.items()
    }
    texts = {"summary": by.text(quality.summary), "error": by.text(quality.error)}
    return quality.model_copy(update={"ratings": ratings, **texts})


def _longest_first(item: tuple[str, str]) -> tuple[int, str]:
    name, value = item
    return -len(value), name


def _replace(text: str, value: str, name: str) -> str:
    return text.replace(value, name)


def _build_text_forms(name: str, value: str) -> list[_Form]:
    """Return the forms of a value as it is, and as in JSON, URLs, HTML and hex dumps, in any case."""
    spellings = {form.lower(): form for case in (value, value.upper(), value.lower()) for form in _list_spellings(case)}
    ordered = sorted(spellings.items(), key=lambda item: (-len(item[0]), item))
    return [
        _Form(marker, partial(re.compile(re.escape(form), re.IGNORECASE).sub, lambda _: name))
        for marker, form in ordered
    ]


def _list_spellings(value: str) -> Iterator[str]:
    data = value.encode(errors="surrogateescape")
    quoted = orjson.dumps(value.encode(errors="replace").decode()).decode()[1:-1]
    yield from (value, quoted, orjson.dumps(quoted).decode()[1:-1], json.dumps(value)[1:-1])
    yield from (quote(data, safe=""), quote(data), quote_plus(data), html.escape(value), data.hex())


def _build_base64_forms(name: str, value: str) -> list[_Form]:
    """Return the forms of a value in base64, standard and URL-safe, at each of the three possible offsets.

    A base64 character stands for six bits. `core` are the characters that depend on this value alone. A character
    before or after them may share its bits with neighbouring data, so it is replaced too, and so is the padding.
    """
    forms: dict[str, _Form] = {}
    for case in (value, value.upper(), value.lower()):
        data = case.encode(errors="surrogateescape")
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + data).decode()
            start, end = -(-before * 8 // 6), (before + len(data)) * 8 // 6
            shares = bool(before), bool((before + len(data)) * 8 % 6)
            for core in (encoded[start:end], encoded[start:end].replace("+", "-").replace("/", "_")):
                forms[core] = _Form(core, partial(_replace_base64, core=core, shares=shares, name=name))
    return list(forms.values())


def _replace_base64(text: str, core: str, shares: tuple[bool, bool], name: str) -> str:
    parts: list[str] = []
    done = 0
    while (match := text.find(core, done)) >= 0:
        end = match + len(core)
        start = match - (shares[0] and match > done and text[match - 1] in _BASE64)
        end += shares[1] and text[end : end + 1] in _BASE64
        end += len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
        parts += [text[done:start], name]
        done = end
    return "".join([*parts, text[done:]])


NO_REDACTION = Redactor({})
