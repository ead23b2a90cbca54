"""A failed trial in lines of plain text, and text that is safe in Markdown."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from clerkship.model.matcher import describe_expected
from clerkship.model.run import CriterionRun, FieldCheck, PagePicture, TaskRun
from clerkship.report.judge_evidence import describe_move, parse_judge_evidence
from clerkship.report.outcome import (
    OUTCOMES,
    describe_reason,
    describe_role,
    is_not_recorded,
    outcome,
    split_criteria,
    why_undecided,
)

MAX_PAGES = 5
"""Pages named per criterion."""
MAX_VALUES = 10
"""Values named per page and kind."""
MarkSort = Literal["found", "missing", "forbidden"]
MARK_WORDS: dict[MarkSort, str] = {"forbidden": "must not be there", "missing": "missing", "found": "found"}
MAX_EVIDENCE = 20
"""Rows of evidence shown per criterion."""
MAX_VALUE_LENGTH = 500
MAX_CITES = 5
"""Citations of a judge shown per criterion."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_COMMAND = re.compile(r"(?:(?m:^)|(?<=\r))((?:[^\S\r\n]|\x1b\[[0-9;]*m)*)(?=::)|(?<=#)(?=#(?:vso)?\[)")
_HARMLESS = re.compile(r"[^\W_]|[ ,;()=+%…–—⏎“”‘’✗✓]")
_HIDING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_BARE_LINK = re.compile(r"(?i)w(?=ww&#46;)")


def describe_cited_pages(criterion: CriterionRun) -> Iterator[str]:
    """Yield a line for each page: `page 2 of fax-1: missing “M54.16”; found “MRN 4711”`."""
    pages = group_pictures(criterion.pictures)
    for pictures in pages[:MAX_PAGES]:
        yield _describe_page(pictures)
    more = len(pages) - MAX_PAGES
    if more > 0:
        yield f"… and {more:,} more page{'s' * (more != 1)}"


def group_pictures(pictures: Sequence[PagePicture]) -> list[list[PagePicture]]:
    """Return pictures of the same page together, in the order of the first of each."""
    by_page: dict[tuple[str, str], list[PagePicture]] = {}
    for picture in pictures:
        by_page.setdefault((picture.source, picture.page), []).append(picture)
    return list(by_page.values())


def _describe_page(pictures: Sequence[PagePicture]) -> str:
    values = [words for sort in MARK_WORDS if (words := _describe_values(pictures, sort))]
    page = pictures[0].caption or f"page {pictures[0].page[:12]}"
    return f"{page}: {'; '.join(values) or 'no value was looked for'}"


def _describe_values(pictures: Sequence[PagePicture], sort: MarkSort) -> str:
    texts = [f"“{mark.text}”" for picture in pictures for mark in picture.marks if mark.sort == sort]
    more = f" and {len(texts) - MAX_VALUES:,} more" if len(texts) > MAX_VALUES else ""
    return f"{MARK_WORDS[sort]} {', '.join(texts[:MAX_VALUES])}{more}" if texts else ""


def trial_name(task_run: TaskRun) -> str:
    """Return the task, and the number of the trial if it is not the first."""
    trial = f" (trial {task_run.trial})" if task_run.trial > 1 else ""
    return f"{task_run.task}{trial}"


def headline(task_run: TaskRun) -> str:
    """Return why a trial did not pass, in one line."""
    if task_run.error:
        return f"{outcome_word(task_run)}: {to_one_line(_first_error_line(task_run))}"
    if task_run.agent_error:
        return f"{outcome_word(task_run)}: the agent crashed: {to_one_line(task_run.agent_error)}"
    return f"{outcome_word(task_run)}: {to_one_line(describe_reason(task_run))}"


def _first_error_line(task_run: TaskRun) -> str:
    """Return the error; only the first line if the others are a comparison."""
    return task_run.error.partition("\n")[0] if is_not_recorded(task_run) else task_run.error


def describe_blame(task_run: TaskRun) -> str:
    """Return who is at fault for a trial without a verdict, to precede `describe_error`."""
    if is_not_recorded(task_run):
        return "not recorded"
    return "the person, not the agent" if task_run.status == "invalid_person" else "not the agent's fault"


def describe_error(task_run: TaskRun) -> str:
    """Return the error of a trial without a verdict."""
    return task_run.error.partition(": ")[2] if is_not_recorded(task_run) else task_run.error


def outcome_word(task_run: TaskRun) -> str:
    """Return the outcome as a word."""
    late = " (timed out)" if task_run.status == "timed_out" else ""
    return f"{OUTCOMES[outcome(task_run)][0]}{late}"


def count_notes(task_runs: Iterable[TaskRun]) -> Counter[str]:
    """Return the notes on trials, each with the number of trials."""
    return Counter(note for task_run in task_runs for note in task_run.notes)


def failed_criteria(task_run: TaskRun) -> list[CriterionRun]:
    """Return the criteria that failed or could not be judged; none for an errored trial, because they mean nothing."""
    return _list_failed(task_run, split_criteria(task_run.criteria)[0])


def failed_checks(task_run: TaskRun) -> list[CriterionRun]:
    """Return, of what is checked on every task, what failed or could not be judged."""
    return _list_failed(task_run, split_criteria(task_run.criteria)[1])


def failed_results(task_run: TaskRun) -> list[CriterionRun]:
    """Return the failed criteria, then the failed checks."""
    return failed_criteria(task_run) + failed_checks(task_run)


def _list_failed(task_run: TaskRun, criteria: list[CriterionRun]) -> list[CriterionRun]:
    if why_undecided(task_run):
        return []
    return [c for c in criteria if c.status == "error" or (c.status == "judged" and not c.passed)]


def skipped_criteria(task_run: TaskRun) -> list[CriterionRun]:
    """Return the skipped criteria of a trial."""
    return [criterion for criterion in split_criteria(task_run.criteria)[0] if criterion.status == "skipped"]


def has_optional_criteria(task_run: TaskRun) -> bool:
    """Return whether some criteria do not gate, so that gates are worth marking."""
    return not all(criterion.gate for criterion in split_criteria(task_run.criteria)[0])


def failed_evidence(criterion: CriterionRun) -> list[FieldCheck]:
    """Return the failed rows of a criterion's evidence."""
    return [check for check in criterion.evidence if not check.passed][:MAX_EVIDENCE]


def explain_failure(task_run: TaskRun) -> Iterator[str]:
    """Yield each failed criterion: label, reason, and each expected value beside the actual one."""
    for criterion in failed_results(task_run):
        mark = "!" if criterion.status == "error" or criterion.is_warning else "✗"
        role = ", ".join(describe_role(criterion, gates=has_optional_criteria(task_run)))
        yield f"{mark} {to_one_line(criterion.label)}{f' ({role})' if role else ''}"
        if criterion.detail:
            yield f"    {to_one_line(criterion.detail)}"
        for cite in parse_judge_evidence(criterion).cites[:MAX_CITES]:
            quote = to_one_line(str(cite.expected["contains"]))
            yield f"    {cite.path}{to_one_line(describe_move(cite))} (event #{cite.seq}): “{quote}”"
        for line in describe_cited_pages(criterion):
            yield f"    {to_one_line(line)}"
        for check in failed_evidence(criterion):
            place = f" (event #{check.seq})" if check.seq is not None else ""
            yield f"    {to_one_line(check.path)}{place}"
            yield from _render_comparison(check)
    for criterion in skipped_criteria(task_run):
        yield f"– {to_one_line(criterion.label)} (skipped: {to_one_line(criterion.detail)})"
    if is_not_recorded(task_run):
        yield from map(to_one_line, task_run.error.splitlines()[1:])
    yield f"log: {task_run.events} events, SHA-256 {task_run.head}"


def replace_control_characters(text: str) -> str:
    """Replace characters that would move a terminal's cursor or reorder its text."""
    return _CONTROL.sub("�", text.replace("\r\n", "\n"))


def escape_ci_commands(text: str) -> str:
    """Insert a backslash into what a CI system would execute as a command in the output of a job.

    GitHub obeys lines that begin with `::`, after any white space, and `##[…]` anywhere; Azure obeys `##vso[…]`.
    """
    return _COMMAND.sub(r"\1\\", text) if "::" in text or "##" in text else text


def _render_comparison(check: FieldCheck) -> Iterator[str]:
    for path, expected, actual in comparisons(check):
        indent = "        " if path else "      "
        if path:
            yield f"      {path}"
        yield f"{indent}expected {expected}"
        yield f"{indent}actual   {actual}"
    if check.differences_left_out:
        yield f"      {describe_left_out(check)}"


def comparisons(check: FieldCheck) -> Iterator[tuple[str, str, str]]:
    """Yield path, expected and actual for each difference of two nested values; without differences the values."""
    for one in check.differences:
        row = FieldCheck(path=one.path, expected=one.expected, actual=one.actual, passed=False)
        yield to_one_line(one.path), *side_by_side(row)
    if not check.differences:
        yield "", *side_by_side(check)


def describe_left_out(check: FieldCheck) -> str:
    """Return how many differences are not shown."""
    return f"… and {check.differences_left_out:,} more difference{'s' * (check.differences_left_out != 1)}"


def side_by_side(check: FieldCheck) -> tuple[str, str]:
    """Return expected and actual as text; with their types if the texts are equal and the values are not."""
    expected, actual = render_value(check.expected), render_value(check.actual)
    if expected == actual and not check.passed:
        return _with_type(check.expected, expected), _with_type(check.actual, actual)
    return expected, actual


def _with_type(value: Any, words: str) -> str:
    return f'"{words}" (text)' if isinstance(value, str) else f"{words} ({_TYPE_NAMES.get(type(value), 'not text')})"


_TYPE_NAMES: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a map",
}


def render_value(value: Any) -> str:
    """Return a value or an expectation on one line."""
    return to_one_line(value if isinstance(value, str) else describe_expected(value))


def to_one_line(text: str, limit: int = MAX_VALUE_LENGTH) -> str:
    """Join lines with a symbol, and cut a long text."""
    line = " ⏎ ".join(replace_control_characters(text).splitlines())
    return line if len(line) <= limit else f"{line[:limit]}… ({len(text):,} characters)"


class _CharacterTable(dict[int, str]):
    """The replacement of each character, computed once."""

    def __missing__(self, code: int) -> str:
        """Return letters, digits and harmless characters unchanged; show characters that hide or reorder text."""
        character = chr(code)
        if _HIDING.match(character):
            character = "�"
        replacement = self[code] = character if _HARMLESS.match(character) else f"&#{ord(character)};"
        return replacement


_CHARACTERS = _CharacterTable()


def escape_markdown_lines(text: str, limit: int = 4000) -> str:
    """Escape a text whose line breaks matter.

    No line is empty or starts with a space, because that would end the surrounding HTML or be read as code.
    """
    shown = text if len(text) <= limit else f"{text[:limit]}…\n({len(text):,} characters)"
    lines = [_escape_line(line.expandtabs(4).rstrip()) for line in replace_control_characters(shown).splitlines()]
    safe = [f"&#32;{line[1:]}" if line[:1] in ("", " ") else line for line in lines]
    return "<pre><code>{}</code></pre>".format("\n".join(safe))


def escape_markdown(text: str, limit: int = 300) -> str:
    """Escape a text on one line, safe as Markdown and as HTML."""
    return f"<code>{_escape_line(to_one_line(text, limit).strip()) or ' '}</code>"


def _escape_line(line: str) -> str:
    return _BARE_LINK.sub(lambda w: f"&#{ord(w[0])};", line.translate(_CHARACTERS))
