"""Comparisons as Markdown and HTML: content and escaping."""

import re
from typing import Any

import pytest

from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.report.comparison import build_comparison
from clerkship.report.comparison_pages import render_comparison, render_comparison_markdown
from clerkship.report.gates import GatedComparison
from clerkship.report.markdown_page import MAX_COMMENT_BYTES, MIN_PAGE_BYTES
from tests.report import made_up
from tests.report.test_html import Elements
from tests.report.test_markdown import check_harmless

CRASH: dict[str, Any] = {"verdict": "fail", "score": 0.67, "ending": "agent_failed", "agent_error": "KeyError"}


def trial(task: str, *, passed: bool, label: str = "No names in it", **changes: Any) -> TaskRun:
    """Return a passed trial with one criterion of the axis safety."""
    detail = "" if passed else f"{label} at #3"
    kept = made_up.criterion(label, passed=passed, score=float(passed), axis="safety", gate=False, detail=detail)
    return made_up.task_run(task, criteria=(kept,), **changes)


def breach() -> GatedComparison:
    """Compare a task that passes in both runs while a safety criterion newly fails, and an unchanged task."""
    old = [trial("Send it", passed=True), trial("Keep it", passed=True)]
    new = [trial("Send it", passed=False), trial("Keep it", passed=True)]
    return GatedComparison.of(build_comparison(made_up.RUN, old, made_up.RUN, new))


def hostile(text: str) -> GatedComparison:
    """Return a comparison with this text in every text field."""
    run: BenchmarkRun = made_up.RUN.model_copy(update={"name": text, "solver": text})
    old = [trial(text, passed=True, label=text), trial(f"{text} 2", passed=True)]
    new = [trial(text, passed=False, label=text), trial(f"{text} 2", passed=True, **CRASH)]
    changed = made_up.criterion(text, axis=text, passed=True)
    old = [one.model_copy(update={"criteria": (*one.criteria, changed)}) for one in old]
    return GatedComparison.of(build_comparison(run, old, run, new), ["task", "criterion", f"axis:{text}"])


def test_a_comment_begins_with_the_result_and_names_what_changed() -> None:
    page = render_comparison_markdown(breach(), MAX_COMMENT_BYTES)
    assert page.startswith("## ❌ Worse\n\n1 criteria worse · 1 same\n")
    assert "- ❌ gate <code>axis&#58;safety</code>: <code>worse&#58; “No names in it” (Send it)</code>" in page
    assert "| <code>safety</code> | 1.00 | 1.00 | 1 | 0 | 0 |" in page
    assert "| 🔻 criteria worse | <code>Send it</code> | pass 1.00 | pass 1.00 | newly failing: " in page
    assert "<details><summary>🔻 <code>Send it</code></summary>" in page
    assert "<code>No names in it at &#35;3</code>" in page
    assert "Keep it" not in page
    check_harmless(page)


def test_comment_headline_for_no_change_and_for_an_inconclusive_comparison() -> None:
    same = [trial("Send it", passed=True)]
    assert render_comparison_markdown(
        GatedComparison.of(build_comparison(made_up.RUN, same, made_up.RUN, same)), MAX_COMMENT_BYTES
    ).startswith("## ✅ No gate is worse\n")
    stopped = made_up.RUN.model_copy(update={"status": "cancelled"})
    page = render_comparison_markdown(
        GatedComparison.of(build_comparison(made_up.RUN, same, stopped, same)), MAX_COMMENT_BYTES
    )
    assert page.startswith("## ⚠️ Not conclusive\n")
    assert "the second run is not complete" in page


def test_a_crash_is_named_in_a_comparison() -> None:
    old, new = [trial("Send it", passed=True)], [trial("Send it", passed=True, **CRASH)]
    page = render_comparison_markdown(
        GatedComparison.of(build_comparison(made_up.RUN, old, made_up.RUN, new)), MAX_COMMENT_BYTES
    )
    assert "| 🔻 worse | <code>Send it</code> | pass 1.00 | fail 0.67 (crashed) |" in page


@pytest.mark.parametrize(
    "text", ["<b>@all</b> | `x` [a](http://b) #1", "</details>\n\n/close", "www.example.org ![x](y)"]
)
def test_untrusted_text_is_escaped_in_a_comment(text: str) -> None:
    check_harmless(render_comparison_markdown(hostile(text), MAX_COMMENT_BYTES))


def test_a_comment_fits_its_limit() -> None:
    names = [f"{number} {'#' * 300}" for number in range(500)]
    old = [trial(name, passed=True) for name in names]
    new = [trial(name, passed=False) for name in names]
    page = render_comparison_markdown(
        GatedComparison.of(build_comparison(made_up.RUN, old, made_up.RUN, new)), MIN_PAGE_BYTES
    )
    assert len(page.encode()) <= MIN_PAGE_BYTES
    assert "more tasks that changed are left out here" in page


def test_the_page_shows_gates_axes_and_each_changed_criterion() -> None:
    text = " ".join(re.sub(r"<[^>]+>", " ", render_comparison(breach()).partition("</style>")[2]).split())
    assert "Comparison of two runs Worse" in text
    assert "axis:safety worse: “No names in it” (Send it)" in text
    assert "safety 1.00 1.00 1 0 0" in text
    assert (
        "criteria worse Send it pass 1.00 → pass 1.00 newly failing No names in it safety No names in it at #3" in text
    )
    assert "1 task unchanged Keep it" in text


def test_page_loads_nothing_and_escapes_text() -> None:
    page = render_comparison(hostile(f"{made_up.SCRIPT}{made_up.IMAGE}{made_up.COMMENT}'\""))
    seen = Elements(page)
    assert {tag for tag, _ in seen.tags}.isdisjoint({"script", "img", "link", "iframe"})
    assert not [name for _, attributes in seen.tags for name in attributes if name.startswith("on") or name == "style"]
    assert "default-src 'none'; style-src 'sha256-" in page


def test_the_same_comparison_gives_the_same_page() -> None:
    assert render_comparison(breach()) == render_comparison(breach())
