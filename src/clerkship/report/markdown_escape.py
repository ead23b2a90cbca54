"""Escape untrusted text in Markdown, so that it is shown and never interpreted.

Text of an agent may contain links, images, HTML, table bars, `@names` that GitHub would notify, `#numbers` that it
would cross-reference, or a line that starts with a slash, which GitLab executes as a command. So such text always
stands in a `code` element, mostly on one line, and every special character is a character reference, which never has
the meaning of the character (CommonMark, 2.5).
"""

import re

from clerkship.report.plain_text import replace_control_characters, to_one_line

_HARMLESS = re.compile(r"[^\W_]|[ ,;()=+%…–—⏎“”‘’✗✓]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_BARE_LINK = re.compile(r"(?i)w(?=ww&#46;)")


class _CharacterTable(dict[int, str]):
    """The replacement of each character, computed once."""

    def __missing__(self, code: int) -> str:
        """Return letters, digits and harmless characters unchanged; show characters that hide or reorder text."""
        character = chr(code)
        if _CONTROL.match(character):
            character = "�"
        found = self[code] = character if _HARMLESS.match(character) else f"&#{ord(character)};"
        return found


_CHARACTERS = _CharacterTable()


def escape_markdown_lines(text: str, limit: int = 4000) -> str:
    """Escape a text whose line breaks matter.

    No line is empty or starts with a space, because that would end the surrounding HTML or be read as code.
    """
    shown = text if len(text) <= limit else f"{text[:limit]}…\n({len(text):,} characters)"
    lines = [_escape_line(line.expandtabs(4).rstrip()) for line in replace_control_characters(shown).splitlines()]
    safe = [f"&#32;{line[1:]}" if line[:1] in ("", " ") else line for line in lines]
    return "<pre><code>{}</code></pre>".format("\n".join(safe))


def escape_markdown(text: str, limit: int = 300) -> str:
    """Escape a text on one line, safe as Markdown and as HTML."""
    return f"<code>{_escape_line(to_one_line(text, limit).strip()) or ' '}</code>"


def _escape_line(line: str) -> str:
    return _BARE_LINK.sub(lambda w: f"&#{ord(w[0])};", line.translate(_CHARACTERS))
