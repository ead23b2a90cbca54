"""Render pages with the templates of a layout, and complete them for the client that gets them."""

import re
from collections.abc import MutableMapping
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from clerkship.simulators.portal.views import PageFrame, View

if TYPE_CHECKING:
    from jinja2 import Environment, FileSystemLoader, Template

TEMPLATES = Path(__file__).parent / "templates"
HTML = "text/html; charset=utf-8"
CSRF_FIELD = '<input type="hidden" name="csrf" value="">'
_LOADING = Lock()
_PATH = re.compile(rb'\b(href|src|action|data-codes)="/')


def render_page(frame: PageFrame, view: View) -> bytes:
    """Render a page. Paths are relative to the sandbox and forms have no token, so that it can be logged."""
    template = load_templates(frame.layout).get_template(f"{view.page}.html")
    problems = {problem.field: problem.text for problem in reversed(view.problems)}
    return template.render(frame=frame, view=view, problems=problems).encode()


def complete_page(html: bytes, base_path: str, token: str) -> bytes:
    """Put the path of the sandbox before all paths, and the CSRF token into all forms.

    Typed text cannot be mistaken for either: quotation marks in it are escaped.
    """
    field = CSRF_FIELD.replace('value=""', f'value="{token}"').encode()
    prefix = base_path.encode()
    return _PATH.sub(lambda match: match[1] + b'="' + prefix + b"/", html.replace(CSRF_FIELD.encode(), field))


def load_templates(layout: str) -> "Environment":
    """Return the templates of a layout; its own come before the shared ones."""
    with _LOADING:
        return _build_environment(layout)


@cache
def _build_environment(layout: str) -> "Environment":
    from jinja2 import Environment, StrictUndefined, select_autoescape  # noqa: PLC0415  (heavy)
    from markupsafe import Markup  # noqa: PLC0415

    environment = Environment(
        loader=_build_loader(layout),
        autoescape=select_autoescape(default=True),
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["csrf_field"] = lambda: Markup(CSRF_FIELD)
    environment.filters["day"] = lambda day: "" if day is None else f"{day:%m/%d/%Y}"
    environment.filters["moment"] = lambda at: "" if at is None else f"{at:%m/%d/%Y %I:%M %p}"
    return environment


def _build_loader(layout: str) -> "FileSystemLoader":
    from jinja2 import Environment, FileSystemLoader  # noqa: PLC0415  (heavy)

    class SharedLoader(FileSystemLoader):
        """Compiles each template once, even if several workers need it at the same moment, as at the start of a run."""

        def __init__(self) -> None:
            super().__init__([TEMPLATES / layout, TEMPLATES / "shared"])
            self._compiled: dict[str, Template] = {}

        def load(
            self, environment: Environment, name: str, globals: MutableMapping[str, Any] | None = None
        ) -> "Template":
            with _LOADING:
                if name not in self._compiled:
                    self._compiled[name] = super().load(environment, name, globals)
                return self._compiled[name]

    return SharedLoader()
