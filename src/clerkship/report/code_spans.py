"""Show text in backticks as code. Every part of a text is escaped first."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

_CODE = re.compile(r"```(?:[\w+-]*\n)?([\s\S]+?)```|`([^`\n]+)`")
"""A block between three backticks, or a span of one line between one. The page's script has the same pattern."""


def to_code_spans(text: str) -> "Markup":
    """Return HTML with `code` elements for the parts in backticks; a single backtick stays."""
    from markupsafe import Markup, escape  # noqa: PLC0415  (a dependency of Jinja; most commands write no page)

    parts, end = [], 0
    for found in _CODE.finditer(text):
        parts += [escape(text[end : found.start()]), Markup("<code>{}</code>").format(found[1] or found[2])]
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def strip_backticks(text: str) -> str:
    """Return the text without the backticks of code, for places that hold no elements."""
    return _CODE.sub(lambda found: found[1] or found[2], text)
