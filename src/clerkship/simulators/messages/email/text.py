"""Texts of e-mail: character sets, encoded words of headers, and HTML as plain text."""

import codecs
import html
import re
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header
from typing import NamedTuple

FALLBACK_CHARSET = "utf-8"
_TEXT_CHARSET = re.compile(
    r"ascii|utf-8|utf-8-sig|utf-(16|32)(-[bl]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|gb2312|gbk|gb18030|hz|big5(hkscs)?"
    r"|euc_\w+|shift_ji\w+|iso2022_\w+|mac-\w+|tis-620|johab|ptcp154|kz1048"
)
"""Character sets, by Python's names. Other codecs of Python are not for mail, and some take quadratic time."""
_LONG_REFERENCE = re.compile(r"&#[0-9]{8,}")
"""A numeric character reference beyond Unicode; Python refuses to convert thousands of digits."""
_TAG = re.compile(r"<(/?[a-zA-Z!?][^<>]*)>")
_LINE_BREAKING = frozenset(
    {"br", "p", "div", "tr", "li", "ul", "ol", "table", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "hr", "pre"}
)
_NOT_SHOWN = frozenset({"script", "style", "head", "title", "template"})
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_INLINE = frozenset(
    (
        *("a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "em", "font", "i", "ins", "kbd", "mark", "q"),
        *("s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "wbr"),
    )
)
"""Elements that do not separate words: `Ri<b>vera</b>` is one word."""
_NAME_END = re.compile(r"[\s/]")
_VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_STYLE_TEXT = re.compile(r"/\*(.*?)\*/|content\s*:\s*[\"']([^\"']*)[\"']", re.DOTALL)
"""Words in a style sheet: comments, and content that is added to elements."""
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all|opacity\s*:\s*0(?:\.0+)?(?![.\d])"
    r"|font-size\s*:\s*[01](?:px|pt|em|rem|%)?(?![.\d\w])|(?:left|top|text-indent)\s*:\s*-\d{3}"
)
_WHITE = re.compile(r"(?<!-)color\s*[:=]\s*[\"']?\s*(?:#fff(?:fff)?\b|white\b|transparent\b)")
_HIDDEN_ATTRIBUTE = re.compile(r"\shidden(?=[\s/=]|$)")
_TEXT_ATTRIBUTE = re.compile(
    r"\b(?:alt|title|aria-label|placeholder|value|data-[\w-]{1,40})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE
)
_CONDITION = re.compile(r"!--\[if|!\[endif|!--<!\[endif|!doctype", re.IGNORECASE)


def decode_text(data: bytes, charset: str | None) -> str:
    """Decode text; what the character set does not define becomes U+FFFD, and an unknown one is read as UTF-8."""
    return data.decode(_find_codec(charset or FALLBACK_CHARSET), errors="replace")


def _find_codec(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError, UnicodeError):  # ValueError: a NUL in the name
        return FALLBACK_CHARSET
    # Text in US-ASCII that has bytes above 127 is UTF-8 more often than anything else.
    return name if _TEXT_CHARSET.fullmatch(name) and name != "ascii" else FALLBACK_CHARSET


def decode_words(value: str) -> str:
    """Decode the encoded words of a header (RFC 2047); a word that cannot be decoded stays as it is."""
    if "=?" not in value:
        return value
    try:
        parts = decode_header(value)
    except (HeaderParseError, ValueError):  # broken base64
        return value
    return "".join(_decode_part(part, charset) for part, charset in parts)


def _decode_part(part: bytes | str, charset: str | None) -> str:
    if isinstance(part, str):
        return part
    if charset is not None:
        return decode_text(part, charset)
    try:
        # decode_header returns text between encoded words in this encoding of Python.
        return part.decode("raw-unicode-escape")
    except UnicodeDecodeError:  # the encoding does not escape a backslash: the text itself looks like an escape
        return part.decode("latin-1")


def _split_html(markup: str) -> Iterator[tuple[str, str]]:
    """Yield each text of HTML, with its character references replaced, and the tag after it; the last one is empty.

    Takes linear time, unlike a parser of invalid HTML, and what is no tag stays text.
    """
    pieces = [*_TAG.split(markup), ""]
    for text, tag in zip(pieces[::2], pieces[1::2], strict=True):
        yield _unescape(text), tag


def _unescape(text: str) -> str:
    return html.unescape(_LONG_REFERENCE.sub("&#1114112", text))


def html_to_text(markup: str) -> str:
    """Return HTML as a reader sees it, without markup."""
    pieces: list[str] = []
    hidden = ""
    for text, tag in _split_html(markup):
        if not hidden:
            pieces.append(_SPACES.sub(" ", text.replace("\n", " ")))
        name = _NAME_END.split(tag.lstrip("/"), maxsplit=1)[0].lower()
        if hidden:
            hidden = "" if tag.startswith("/") and name == hidden else hidden
        elif name in _NOT_SHOWN and not tag.startswith("/"):
            hidden = name
        elif name in _LINE_BREAKING:
            pieces.append("\n")
    lines = "".join(pieces).split("\n")
    return _BLANK_LINES.sub("\n\n", "\n".join(line.strip() for line in lines)).strip()


def read_html(markup: str) -> str:
    """Return the text of HTML, and below it the attributes of each tag and the comments: all but the names of tags."""
    shown: list[str] = []
    others: list[str] = []
    for text, tag in _split_html(markup):
        inner = tag.removeprefix("/")
        name = _NAME_END.split(inner, maxsplit=1)[0]
        shown += [text, "\n"] if tag and name.lower() not in _INLINE else [text]
        if rest := inner.removeprefix("" if inner.startswith("!") else name).strip(" /"):
            others.append(_unescape(rest))
    return "\n".join(("".join(shown), *others))


class ShownHtml(NamedTuple):
    """The text of HTML as a reader sees it, and texts that a reader does not see."""

    shown: str
    hidden: tuple[str, ...]
    """Texts of elements that are not displayed, comments, and texts in attributes."""


def split_shown(markup: str) -> ShownHtml:
    """Return what a reader sees of HTML, and what is hidden in it. Rules of style sheets are not read."""
    shown: list[str] = []
    hidden: list[str] = []
    is_on_color = "background" in markup or "bgcolor" in markup
    hiding, depth = "", 0
    for text, tag in _split_html(markup):
        if tag.lower().startswith("/style"):
            hidden += [match[1] or match[2] for match in _STYLE_TEXT.finditer(text)]
        else:
            (hidden if hiding else shown).append(text)
        inner = tag.removeprefix("/")
        name = _NAME_END.split(inner, maxsplit=1)[0].lower()
        hidden += _list_tag_texts(inner, name)
        if hiding:
            depth += 0 if name != hiding else -1 if tag.startswith("/") else 1
            hiding = hiding if depth else ""
        elif tag and not tag.startswith(("/", "!")) and _is_hiding(inner.lower(), name, is_on_color=is_on_color):
            hiding, depth = name, 1
        elif name not in _INLINE:
            shown.append("\n")
    return ShownHtml("".join(shown), tuple(each for each in hidden if each and each.strip()))


def _is_hiding(tag: str, name: str, *, is_on_color: bool) -> bool:
    if name in _VOID or tag.endswith("/"):
        return False
    is_white = not is_on_color and _WHITE.search(tag) is not None
    return name in _NOT_SHOWN or is_white or bool(_HIDING_STYLE.search(tag) or _HIDDEN_ATTRIBUTE.search(tag))


def _list_tag_texts(inner: str, name: str) -> Iterator[str]:
    """Yield the text of a comment, or of the attributes of a tag."""
    if inner.startswith("!"):
        if _CONDITION.match(inner) is None:
            yield inner.strip("!-")
    elif name != "meta":
        for match in _TEXT_ATTRIBUTE.finditer(inner):
            yield _unescape(match[1] or match[2] or "")
