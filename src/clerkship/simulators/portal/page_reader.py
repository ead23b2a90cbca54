"""Read a page as a program sees it: heading, text, links and forms."""

from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser

_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_SKIPPED = frozenset({"script", "style", "template"})


@dataclass
class Form:
    """A form with the values of its fields, as a browser would send them."""

    action: str
    method: str
    is_multipart: bool = False
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str, str]] = field(default_factory=list)
    """Name, value and label of each button that sends it."""
    choices: dict[str, list[str]] = field(default_factory=dict)
    """The values of selects, radio buttons and checkboxes, by field."""


@dataclass
class PortalPageContent:
    """What is on a page."""

    title: str = ""
    heading: str = ""
    text: str = ""
    links: list[tuple[str, str]] = field(default_factory=list)
    """Path and label."""
    forms: list[Form] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What the page says is wrong with a form."""


@dataclass(frozen=True)
class PortalPage:
    """A page as it was sent. It is read when a part of it is needed: agents open many that they do not look at."""

    status: int
    path: str
    html: str = field(default="", repr=False)

    @cached_property
    def _content(self) -> PortalPageContent:
        reader = HtmlReader()
        reader.feed(self.html)
        reader.close()
        return reader.content

    @property
    def title(self) -> str:
        return self._content.title

    @property
    def heading(self) -> str:
        return self._content.heading

    @property
    def text(self) -> str:
        """All words, but those of scripts and styles."""
        return self._content.text

    @property
    def links(self) -> list[tuple[str, str]]:
        """Path and label of each link."""
        return self._content.links

    @property
    def forms(self) -> list[Form]:
        return self._content.forms

    @property
    def problems(self) -> list[str]:
        """What the page says is wrong with a form."""
        return self._content.problems

    def find_form(self, button: str) -> Form:
        """Return the form with a button of this value or label; raises LookupError."""
        for form in self.forms:
            if any(button in (value, label) for _, value, label in form.buttons):
                return form
        raise LookupError(f"the page “{self.heading}” has no button {button!r}")


class HtmlReader(HTMLParser):
    """Reads one page."""

    def __init__(self) -> None:
        super().__init__()
        self.content = PortalPageContent()
        self._words: list[str] = []
        self._open: list[str] = []
        self._alert_depth = 0
        self._collected: list[tuple[str, list[str]]] = []
        self._link = ""
        self._button: tuple[str, str] = ("", "")
        self._select = ""
        self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self._open.append(tag)
        if values.get("role") == "alert" and not self._alert_depth:
            self._alert_depth = len(self._open)
        if tag == "form":
            is_multipart = values.get("enctype") == "multipart/form-data"
            self.content.forms.append(Form(values.get("action", ""), values.get("method", "get").upper(), is_multipart))
        elif tag == "a" and "href" in values:
            self._link = values["href"]
            self._collected.append(("a", []))
        elif tag in ("h1", "title", "button", "li"):
            self._button = (values.get("name", ""), values.get("value", "")) if tag == "button" else self._button
            self._collected.append((tag, []))
        elif self.content.forms:
            self._start_field(tag, values)

    def _start_field(self, tag: str, values: dict[str, str]) -> None:
        form, name = self.content.forms[-1], values.get("name", "")
        if tag == "input" and name:
            type, value = values.get("type", "text"), values.get("value", "")
            if type in ("radio", "checkbox"):
                form.choices.setdefault(name, []).append(value or "on")
                if "checked" in values:
                    form.fields[name] = value or "on"
            elif type not in ("file", "submit", "button"):
                form.fields[name] = value
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select:
            form.choices.setdefault(self._select, []).append(values.get("value", ""))
            if "selected" in values or self._select not in form.fields:
                form.fields[self._select] = values.get("value", "")
        elif tag == "textarea":
            self._textarea = name
            form.fields[name] = ""

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open[-1] != tag and tag in self._open:
            self._open.pop()
        if self._open and self._open[-1] == tag:
            if self._alert_depth == len(self._open):
                self._alert_depth = 0
            self._open.pop()
        if tag == "select":
            self._select = ""
        if tag == "textarea":
            self._textarea = ""
        if self._collected and self._collected[-1][0] == tag:
            self._end_collected(tag, " ".join("".join(self._collected.pop()[1]).split()))

    def _end_collected(self, tag: str, text: str) -> None:
        if tag == "h1":
            self.content.heading = text
        elif tag == "title":
            self.content.title = text
        elif tag == "a":
            self.content.links.append((self._link, text))
        elif tag == "li" and self._alert_depth:
            self.content.problems.append(text)
        elif tag == "button" and self.content.forms:
            self.content.forms[-1].buttons.append((*self._button, text))

    def handle_data(self, data: str) -> None:
        if self._textarea and self.content.forms:
            self.content.forms[-1].fields[self._textarea] += data.removeprefix("\n")
            return
        if not _SKIPPED.isdisjoint(self._open):
            return
        for _, parts in self._collected:
            parts.append(data)
        if "title" not in self._open:
            self._words.append(data)

    def close(self) -> None:
        super().close()
        self.content.text = " ".join(" ".join(self._words).split())
