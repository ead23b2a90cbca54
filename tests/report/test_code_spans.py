"""Text in backticks as code: in the header and the plain table, and in what the script shows."""

import pytest

from clerkship.report.comparison import build_comparison
from clerkship.report.comparison_pages import render_comparison
from clerkship.report.gates import GatedComparison
from clerkship.report.html import render_html
from clerkship.report.pages import strip_backticks, to_code_spans
from tests.report import made_up

TEXTS = {
    "Books `Appointment`": "Books <code>Appointment</code>",
    "`a` and `b`": "<code>a</code> and <code>b</code>",
    "```json\n{}\n```": "<code>{}\n</code>",
    "```{}```": "<code>{}</code>",
    "a single ` stays": "a single ` stays",
    "not over `two\nlines`": "not over `two\nlines`",
    "`<b>` & <i>": "<code>&lt;b&gt;</code> &amp; &lt;i&gt;",
    "``": "``",
    "": "",
}


@pytest.mark.parametrize(("text", "html"), TEXTS.items())
def test_text_in_backticks_becomes_an_escaped_code_element(text: str, html: str) -> None:
    assert str(to_code_spans(text)) == html


def test_backticks_are_removed_where_no_element_is_possible() -> None:
    assert strip_backticks("Books `Appointment` and ```x```") == "Books Appointment and x"


def test_page_shows_no_backticks_outside_its_data_and_script() -> None:
    failed = made_up.criterion("Reads `Patient`", axis="`safety`")
    changes = {"criteria": (failed,), "tags": ("`beta`",), "template": "Move `it`", "error": "no `file`"}
    trials = [made_up.task_run("Move `it`", trial=n, verdict=v, **changes) for n, v in ((1, "fail"), (2, "pass"))]
    details = [made_up.detail(trial) for trial in trials]
    run = made_up.RUN.model_copy(update={"name": "suite `a`", "trials": 2})
    page = render_html(run, made_up.counts(details), details)
    shown = page.partition("<body>")[2].partition('<script type="application/json"')[0]
    assert shown.count("<code>it</code>") >= 3
    assert "<code>beta</code>" in shown
    assert "<title>suite a: " in page
    assert "`" not in shown.replace('data-template="Move `it`"', "")


def test_comparison_shows_text_in_backticks_as_code() -> None:
    old = made_up.task_run("Move `it`")
    new = made_up.task_run("Move `it`", verdict="fail", score=0.0, criteria=(made_up.criterion("Books `it`"),))
    page = render_comparison(GatedComparison.of(build_comparison(made_up.RUN, [old], made_up.RUN, [new])))
    assert "Move <code>it</code>" in page
    assert "Books <code>it</code>" in page
    assert "`" not in page.partition("<body>")[2]
