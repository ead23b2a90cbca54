"""The text of HTML: what is shown, what is hidden, and what attributes and comments say."""

import re

from clerkship.simulators.messages.email.text import split_tags, unescape_html

_INLINE = frozenset((
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "em", "font", "i", "ins", "kbd", "mark", "q",
    "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr",
))  # fmt: skip
"""Elements that do not separate words: `Ri<b>vera</b>` is one word."""


_NAME = re.compile(r"[^\s/]*")


def read_html(markup: str) -> str:
    """Return the text of HTML, and below it the attributes of each tag and the comments.

    Takes linear time, unlike a parser of invalid HTML, and leaves out nothing but the names of tags.
    """
    shown: list[str] = []
    others: list[str] = []
    for place, piece in enumerate(split_tags(markup)):
        if place % 2 == 0:
            shown.append(unescape_html(piece))
            continue
        inner = piece.removeprefix("/")
        name = _NAME.match(inner)
        end = name.end() if name is not None else 0
        if inner[:end].lower() not in _INLINE:
            shown.append("\n")
        if rest := inner[0 if inner.startswith("!") else end :].strip(" /"):
            others.append(unescape_html(rest))
    return "\n".join(("".join(shown), *others))
