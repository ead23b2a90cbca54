"""The Markdown summary: content, size limit, and escaping."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from clerkship.model.run import BenchmarkRun, FieldCheck, TaskRun
from clerkship.report.markdown import render_markdown
from clerkship.report.markdown_page import MAX_COMMENT_BYTES, MAX_SUMMARY_BYTES, MIN_PAGE_BYTES
from clerkship.report.plain_text import escape_markdown
from tests.choices import mark_slow_after
from tests.report import made_up

TAGS = {"h2", "h3", "p", "strong", "em", "i", "code", "ul", "li", "br", "details", "summary", "pre"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}
HOSTILE = [
    "| a | b |",
    "`code` ``` fence",
    "</code><script>alert(1)</script><img src=x onerror=alert(2)>",
    "@everyone please look, #1 and GH-2 and o/r#3, !4 ~bug %v1 $5",
    "first\n/close\n/assign @root\n\n# Heading\n- [ ] item\n> quote",
    "[link](https://example.org) ![x](https://example.org/x.png) <https://example.org> www.example.org a@example.org",
    "</details></summary>\r\n\r\n<details open>",
    "*a* _b_ __c__ ~~d~~ **e** \\* &lt;b&gt; &amp; $x^2$ :smile: [^1] ==m==",
    "\u2028/close\x0b/close\x85/close\x1e",
    "\u202egnp.exe\u200b\x00\x1b[31m",
]


class Rendered(HTMLParser):
    """Parses the rendered page: tags with attributes, and the text inside and outside code."""

    def __init__(self, markdown: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.codes: list[str] = []
        self.outside = ""
        self._open: list[str] = []
        self.feed(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(markdown))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self._open.append(tag)
        if tag == "code":
            self.codes.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Collect text inside code as untrusted, and other text as ours."""
        if "code" in self._open:
            self.codes[-1] += data
        else:
            self.outside += data


def page_of(task_runs: list[TaskRun], run: BenchmarkRun = made_up.RUN, limit: int = MAX_SUMMARY_BYTES) -> str:
    """Return a page about made-up trials."""
    return render_markdown(run, made_up.counts(task_runs), lambda: task_runs, limit)


def missed(error: str, **changes: Any) -> TaskRun:
    """Return a trial of a replay with a missing recording."""
    given = {"status": "errored", "verdict": None, "score": None, "ending": "errored", "criteria": (), "error": error}
    return made_up.task_run(**{"task": "Late"} | given | changes)


def hostile(text: str) -> tuple[BenchmarkRun, list[TaskRun]]:
    """Return a run with this text in every text field."""
    check = FieldCheck(path=text, expected={"contains": text}, actual={text: text}, passed=False, seq=3)
    failed = made_up.criterion(text, detail=text, evidence=(check,))
    trials = [
        made_up.task_run(text, verdict="fail", score=0.0, criteria=(failed,)),
        made_up.task_run(text, verdict="pass", trial=2),
        made_up.task_run(text, verdict="fail", agent_error=text, criteria=(failed,), trial=3),
        made_up.task_run(text, status="errored", verdict=None, score=None, ending="errored", error=text, trial=4),
        missed(f"not recorded: {text}\n-{text}\n\n    {text}\n{text}", task=text, trial=5),
    ]
    changes = {"name": text, "solver": text, "path": text, "options": (text,), "trials": 5, "total": 5}
    return made_up.RUN.model_copy(update=changes), trials


def check_harmless(page: str) -> Rendered:
    """No element, attribute or order that we did not write."""
    seen = Rendered(page)
    assert seen.tags <= TAGS
    assert seen.attributes == set()
    assert not re.search(r"[@#!~<>\[\]`|]|https?:|www\.", seen.outside), seen.outside
    for line in page.splitlines():
        assert not line.startswith(("/", "@", "    ", "\t"))
        assert "@" not in line
        assert "://" not in line
        assert "www." not in line.lower()
    return seen


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_escaped(text: str) -> None:
    run, trials = hostile(text)
    seen = check_harmless(page_of(trials, run))
    said = escape_markdown(text)
    assert Rendered(said).codes[0] in seen.codes
    assert "Flaky" in seen.outside


def test_escaped_text_renders_unchanged() -> None:
    for text in ("a | b `c` <d> @e #f *g* _h_ [i](j) k.l:m", "www.x.org", "WWW.x.org"):
        assert Rendered(escape_markdown(text)).codes == [text]
    assert Rendered(escape_markdown("one\n/two")).codes == ["one ⏎ /two"]


def test_missing_recording_is_shown_line_by_line() -> None:
    compared = '-[T1] "It snows."\n+[T1] "It rains."'
    error = f"not recorded: a question of judge, in 'Late'\n{compared}\n\n  so\n--refresh records"
    page = page_of([missed(error)])
    seen = check_harmless(page)
    assert "The trial differs from the recording." in seen.outside
    assert "Not recorded: " in seen.outside
    assert "fault" not in seen.outside
    assert "The platform or the task failed" not in seen.outside
    assert f"{compared}\n \n  so\n--refresh records" in seen.codes
    assert "⏎" not in page
    assert "pre" not in check_harmless(page_of([missed("not recorded: a question of judge")])).tags


@given(st.text(), st.text())
def test_no_text_escapes_its_element(before: str, after: str) -> None:
    run, trials = hostile(f"{before}\n/close <b>@x</b>|{after}")
    check_harmless(page_of(trials, run))


def test_summary_shows_results_and_reasons() -> None:
    trials = [detail.task_run for detail in made_up.every_outcome()]
    run = made_up.RUN.model_copy(update={"total": 12, "path": "suites/clinic", "status": "cancelled"})
    seen = Rendered(page_of(trials, run))
    assert "⏭️ " in seen.outside, "it was cancelled"
    assert "1 of 5 graded trials passed: 20% (95 % interval 4% to 62%)" in seen.outside
    assert "2 not run" in seen.outside
    assert "2 passed" not in seen.outside
    assert "1 passed" in seen.outside
    for text in (
        "it fails",
        "#3 is not it",
        'one of ["booked"]',
        "StepFailed: no such file",
        "KeyError: 'mrn' ⏎ in on_turn",
        "ModelDown: no reply",
        "clerkship run suites/clinic --agent python:desk:Agent --seed 7",
    ):
        assert any(" ".join(code.split()) == text for code in seen.codes), text
    assert "Flaky" not in seen.outside


def test_flaky_tasks_are_listed() -> None:
    bad = {"verdict": "fail", "score": 0.0}
    trials = [made_up.task_run("Wobbles", trial=n, **(bad if n == 2 else {})) for n in (1, 2, 3)]
    trials += [made_up.task_run("Holds", trial=n) for n in (1, 2, 3)]
    trials += [made_up.task_run("Never", trial=n, **bad) for n in (1, 2, 3)]
    page = page_of(trials, made_up.RUN.model_copy(update={"trials": 3, "total": 9}))
    assert "<code>Wobbles</code>: 2 of 3 trials passed" in page
    assert re.findall(r"^- <code>(\w+)</code>", page, re.MULTILINE) == ["Wobbles"]
    outside = Rendered(page)
    assert "pass@k" in outside.codes
    assert "pass^k" in outside.codes
    assert ": 56% at 1, 67% at 2, 67% at 3 (at least one of k trials passes)" in outside.outside
    assert ": 56% at 1, 44% at 2, 33% at 3 (all of k trials pass)" in outside.outside
    assert "of k trials" not in page_of(trials[:1])


def test_failed_criteria_of_passed_trials_and_axes_are_listed() -> None:
    breach = made_up.criterion("No names in it", axis="safety", gate=False, weight=0.1)
    axes = {"safety": {"score": 0.0, "weight": 0.1}, "__default__": {"score": 1.0, "weight": 1}}
    trials = [made_up.task_run("A", criteria=(made_up.criterion(passed=True), breach), axes=axes)]
    page = page_of(trials, made_up.RUN.model_copy(update={"total": 1}))
    assert (
        "### Passed, with failed criteria\n\n- <code>A</code>: <code>No names in it</code> (<code>safety</code>)"
        in page
    )
    assert "| <code>safety</code> | 0.00 |\n| <code>other criteria</code> | 1.00 |" in page


def test_all_passed_is_short() -> None:
    page = page_of([made_up.task_run("A")], made_up.RUN.model_copy(update={"total": 1}))
    assert page.startswith("## ✅ <code>made up</code>\n")
    assert "| task |" not in page
    assert "did not pass" not in page


@pytest.mark.parametrize("limit", [MIN_PAGE_BYTES, MAX_COMMENT_BYTES, MAX_SUMMARY_BYTES])
@pytest.mark.parametrize("number", mark_slow_after(2, [1, 40, 3000]))
def test_page_fits_its_limit_and_says_what_is_left_out(limit: int, number: int) -> None:
    checks = tuple(FieldCheck(path="p" * 300, expected="<" * 900, actual="|" * 900, passed=False) for _ in range(9))
    failed = tuple(made_up.criterion(f"{n} {'*' * 300}", detail="@" * 900, evidence=checks) for n in range(12))
    trials = [made_up.task_run(f"{n} {'#' * 300}", verdict="fail", score=0.0, criteria=failed) for n in range(number)]
    trials += [made_up.task_run(f"fine {n} {'_' * 300}") for n in range(number)]
    page = page_of(trials, made_up.RUN.model_copy(update={"total": 2 * number}), limit)
    assert len(page.encode()) <= limit
    check_harmless(page)
    assert page.count("<details>") == page.count("</details>")
    assert ("are left out here" in page) == (number > 1 or limit < MAX_SUMMARY_BYTES)
    assert "Run it again" in page
