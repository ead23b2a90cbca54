"""Pages are rendered from templates that all workers share, and read only as far as they are looked at."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from jinja2 import Environment

import clerkship.simulators.portal
from clerkship.simulators.portal import rendering
from clerkship.simulators.portal.page_reader import HtmlReader, PortalPage
from tests.simulators.portal.page_checks import find_field_names, parse_page
from tests.simulators.portal.sample_views import build_samples

WORKERS = 4
NOT_READ = {"statement"}
"""Part of the check that only a person may do, which is refused whatever is sent."""
HTML = "<title>A</title><h1>Requests</h1><form><input name=q value=1><button>Find</button></form>"


def test_workers_that_render_their_first_page_together_compile_each_template_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: Counter[str | None] = Counter()
    compile_template, ready = Environment.compile, Barrier(WORKERS)

    def count(self: Environment, source: Any, name: str | None = None, *rest: Any, **options: Any) -> Any:
        compiled[name] += 1
        return compile_template(self, source, name, *rest, **options)

    def render(_: int) -> bytes:
        ready.wait(timeout=30)
        return rendering.render_page(sample.frame, sample.view)

    monkeypatch.setattr(Environment, "compile", count)
    rendering._build_environment.cache_clear()
    sample = next(each for each in build_samples("wizard", 1) if each.view.page == "home")
    with ThreadPoolExecutor(WORKERS) as pool:
        pages = set(pool.map(render, range(WORKERS)))
    assert len(pages) == 1
    assert compiled["home.html"] == 1
    assert set(compiled.values()) == {1}


def test_page_is_read_once_and_only_if_a_part_of_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    feed_reader = HtmlReader.feed

    def feed(self: HtmlReader, html: str) -> None:
        read.append(html)
        feed_reader(self, html)

    monkeypatch.setattr(HtmlReader, "feed", feed)
    page = PortalPage(200, "/requests", HTML)
    assert (page.status, page.path, read) == (200, "/requests", [])
    assert (page.title, page.heading, page.text) == ("A", "Requests", "Requests Find")
    assert page.find_form("Find").fields == {"q": "1"}
    assert len(read) == 1


@pytest.mark.parametrize("layout", ["wizard", "one_page"])
def test_every_field_and_button_of_a_page_is_one_that_the_code_reads(layout: str) -> None:
    names = {
        re.sub(r"^action=|:.*", "", re.sub(r"^answer_.*", "answer_", re.sub(r"_\d+$", "_", name)))
        for version in (1, 2)
        for sample in build_samples(layout, version)
        for name in find_field_names(parse_page(rendering.render_page(sample.frame, sample.view)))
    }
    assert {*NOT_READ, *list_texts_of_the_code()} >= names
    assert "member_id" in names


def list_texts_of_the_code() -> Iterator[str]:
    """Yield the texts in the code of the payer portal, without what only describes its pages."""
    for path in Path(clerkship.simulators.portal.__file__).parent.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text())) if path.name != "views.py" else ()
        yield from (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
