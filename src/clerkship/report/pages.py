"""Templates of the HTML pages, and the JSON in them. Every value is escaped unless a template says otherwise."""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clerkship.report.labels import percent

if TYPE_CHECKING:
    from jinja2 import Environment, Template
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup
import orjson

# In JSON these characters occur inside strings only, where an escape means the same. Without them nothing can close
# the script element or open a comment in it (HTML, 4.12.1.3), and the line separators are safe for old parsers.
_ESCAPES = {
    b"<": b"\\u003c",
    b">": b"\\u003e",
    b"&": b"\\u0026",
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}
_CODE = re.compile(r"```(?:[\w+-]*\n)?([\s\S]+?)```|`([^`\n]+)`")
"""A block between three backticks, or a span of one line between one. The script has it in `parts/Coded.tsx`."""
_PARTS = Path(__file__).parent / "page"


def render_json(value: Any) -> bytes:
    """Return compact JSON that is safe to embed."""
    data = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    for character, escape in _ESCAPES.items():
        data = data.replace(character, escape)
    return data


def embed_json(data: bytes) -> orjson.Fragment:
    """Return the output of `render_json` as a part of a larger value."""
    return orjson.Fragment(data)


def clip(value: Any, limit: int) -> Any:
    """Cut a value that is too long to show; a value that is not text becomes text."""
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]} … ({len(value):,} characters)"
    if isinstance(value, int | float | None):
        return value
    text = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)
    return value if len(text) <= limit else clip(text.decode(), limit)


def to_code_spans(text: str) -> "Markup":
    """Return HTML with `code` elements for the parts in backticks; a single backtick stays."""
    from markupsafe import Markup, escape  # noqa: PLC0415  (a dependency of Jinja; most commands write no page)

    parts, end = [], 0
    for span in _CODE.finditer(text):
        parts += [escape(text[end : span.start()]), Markup("<code>{}</code>").format(span[1] or span[2])]
        end = span.end()
    return Markup("").join([*parts, escape(text[end:])])


def strip_backticks(text: str) -> str:
    """Return the text without the backticks of code, for places that hold no elements."""
    return _CODE.sub(lambda span: span[1] or span[2], text)


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
    name: str,
    filters: Mapping[str, Callable[..., Any]],
    style: str,
    script: str = "",
    frame_styles: Sequence[str] = (),
    linked: Any = None,
    **values: Any,
) -> str:
    """Render a page with its style and script, which its policy allows by their hashes.

    `frame_styles` are those of pages that it shows in frames. A `linked` page names its style and script instead, and
    its policy is sent beside it.
    """
    template, icons = _load_template(name, tuple(filters.items())), read_part("icons.svg")
    rules = "" if linked else policy(style, script, frame_styles)
    return template.render(policy=rules, style=style, script=script, icons=icons, linked=linked, **values)


@cache
def _load_template(name: str, filters: tuple[tuple[str, Callable[..., Any]], ...]) -> "Template":
    page = _environment().overlay()
    page.filters = {**page.filters, **dict(filters)}
    return page.get_template(name)


@cache
def load_pieces(name: str, *functions: Callable[..., Any]) -> Any:
    """Return the macros of a Markdown template, without escaping; the functions become filters under their names."""
    page = _environment().overlay(autoescape=False)
    page.filters = {**page.filters, **{function.__name__: function for function in functions}}
    return page.get_template(name).module


def policy(style: str, script: str = "", frame_styles: Sequence[str] = ()) -> str:
    """Return a content security policy that allows only these texts, by their hashes."""
    scripts = f"script-src {hash_source(script)}; " if script else ""
    styles = " ".join(map(hash_source, (style, *frame_styles)))
    rules = f"default-src 'none'; {scripts}style-src {styles}; img-src data:"
    return f"{rules}; base-uri 'none'; form-action 'none'"


def hash_source(text: str) -> str:
    """Return the hash by which a policy allows a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
