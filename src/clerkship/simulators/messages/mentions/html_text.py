"""The text of HTML: what is shown, what is hidden, and what attributes and comments say."""

from html.parser import HTMLParser

_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "del",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
"""Elements that do not separate words: `Ri<b>vera</b>` is one word."""


class _TextParser(HTMLParser):
    """Collects the text of elements, and separately that of attributes and comments."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.shown: list[str] = []
        self.others: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _INLINE:
            self.shown.append("\n")
        self.others += [value for _, value in attrs if value]

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self.shown.append("\n")

    def handle_data(self, data: str) -> None:
        self.shown.append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)


def read_html(html: str) -> str:
    """Return the text of HTML, and below it the values of attributes and the comments."""
    parser = _TextParser()
    parser.feed(html)
    parser.close()
    return "\n".join(("".join(parser.shown), *parser.others))
