"""The templates of the viewer's own pages."""

from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clerkship.report.labels import percent
from clerkship.report.pages import read_part, render_json, to_code_spans
from clerkship.viewer.context import PREFIX, ViewerContext
from clerkship.viewer.static import link

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent / "pages"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415  (only pages need it)

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "code": to_code_spans,
        "commas": "{:,}".format,
        "percent": percent,
        "data": lambda value: render_json(value).decode(),
    }
    made.globals |= {"link": link, "icons": lambda: read_part("icons.svg")}
    return made


def render(name: str, context: ViewerContext | None = None, **values: Any) -> str:
    """Render a page; with a context, one that links to the others."""
    prefix, signs_out = (context.prefix, context.signs_out) if context is not None else (PREFIX, False)
    values = {"prefix": prefix, **values}
    return _environment().get_template(name).render(signs_out=signs_out, links=context is not None, **values)


def render_message(status: int, message: str) -> str:
    """Render a page that only says what happened."""
    return render("message.html", title=HTTPStatus(status).phrase, message=message)


def render_sign_in(prefix: str, problem: str = "") -> str:
    """Render the page that asks for a key."""
    return render("sign_in.html", title="Sign in", prefix=prefix, problem=problem)
