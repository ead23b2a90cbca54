"""Templates of the HTML pages. Every value is escaped unless a template says otherwise."""

import base64
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clerkship.report.code_spans import to_code_spans
from clerkship.report.percent import percent

if TYPE_CHECKING:
    from jinja2 import Environment

_PARTS = Path(__file__).parent / "page"


@cache
def read_part(name: str) -> str:
    """Return the text of a file that pages are built from."""
    return (_PARTS / name).read_text(encoding="utf-8")


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  (most commands write no page)

    loader = FileSystemLoader(_PARTS)
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"commas": "{:,}".format, "percent": percent, "code": to_code_spans}
    return made


def render_page(
    name: str, filters: Mapping[str, Callable[..., Any]], style: str, script: str = "", **values: Any
) -> str:
    """Render a page with its style and script, which its policy allows by their hashes."""
    page = _environment().overlay()
    page.filters = {**page.filters, **filters}
    icons = read_part("icons.svg")
    return page.get_template(name).render(
        policy=policy(style, script), style=style, script=script, icons=icons, **values
    )


@cache
def load_pieces(name: str, *functions: Callable[..., Any]) -> Any:
    """Return the macros of a Markdown template, without escaping; the functions become filters under their names."""
    page = _environment().overlay(autoescape=False)
    page.filters = {**page.filters, **{function.__name__: function for function in functions}}
    return page.get_template(name).module


def policy(style: str, script: str = "") -> str:
    """Return a content security policy that allows only these two texts, by their hashes."""
    scripts = f"script-src {_hash(script)}; " if script else ""
    rules = f"default-src 'none'; {scripts}style-src {_hash(style)}; img-src data:"
    return f"{rules}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
