"""Checks of a page's HTML that hold for every page of both layouts."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "circle", "path", "rect"})
REFERENCES = ("for", "aria-describedby", "aria-labelledby", "aria-controls")
PATHS = ("href", "src", "action", "formaction", "data-codes")
Attributes = Mapping[str, str]


@dataclass
class Page(HTMLParser):
    """The elements of a page, in order, with what is wrong with its markup."""

    elements: list[tuple[str, Attributes]] = field(default_factory=list)
    forms: list[list[tuple[str, Attributes]]] = field(default_factory=list)
    """The elements of each form; the first is the form itself."""
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        twice = [name for name, count in Counter(name for name, _ in attrs).items() if count > 1]
        if twice:
            self.problems.append(f"<{tag}> has {twice} twice")
        element = (tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag == "form":
            if "form" in self._open:
                self.problems.append("a form is inside another")
            self.forms.append([])
        if "form" in (*self._open, tag):
            self.forms[-1].append(element)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element without content."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes no open element")

    def close(self) -> None:
        """Note what was not closed."""
        super().close()
        self.problems += [f"<{tag}> is not closed" for tag in self._open]

    def find(self, *tags: str) -> list[Attributes]:
        """Return the attributes of all elements of a kind."""
        return [attributes for tag, attributes in self.elements if tag in tags]


def parse_page(html: bytes) -> Page:
    """Read a page."""
    page = Page()
    page.feed(html.decode())
    page.close()
    return page


def find_field_names(page: Page) -> set[str]:
    """Return the names of all fields and, for buttons, their actions."""
    fields = {each["name"] for each in page.find("input", "select", "textarea") if "name" in each}
    return fields | {f"{each['name']}={each['value']}" for each in page.find("button") if "name" in each}


def find_page_problems(html: bytes) -> list[str]:
    """Return what is wrong with a page: markup, headings, labels, references, tables, tokens and addresses."""
    page = parse_page(html)
    return [*page.problems, *_check_structure(page), *_check_fields(page), *_check_forms(page), *_check_addresses(page)]


def _check_structure(page: Page) -> Iterator[str]:
    if len(page.find("h1")) != 1:
        yield f"{len(page.find('h1'))} h1 instead of one"
    ids = Counter(each["id"] for _, each in page.elements if "id" in each)
    yield from (f"the id {name} occurs {count} times" for name, count in ids.items() if count > 1)
    for tag, each in page.elements:
        for name in REFERENCES:
            yield from (f"{tag} {name}: no id {target}" for target in each.get(name, "").split() if target not in ids)
        if each.get("href", "").startswith("#") and each["href"][1:] not in ids:
            yield f"a link leads to {each['href']}, which does not exist"
    yield from (f"a th has no scope: {each}" for each in page.find("th") if each.get("scope") not in ("row", "col"))
    if len(page.find("table")) != len(page.find("caption")):
        yield "a table has no caption"
    yield from (f"a nav has no label: {each}" for each in page.find("nav") if not each.get("aria-label"))
    if len(page.find("fieldset")) != len(page.find("legend")):
        yield "a fieldset has no legend"


def _check_fields(page: Page) -> Iterator[str]:
    labeled = {each.get("for") for each in page.find("label")}
    for each in page.find("input", "select", "textarea"):
        if each.get("type") != "hidden" and each.get("id") not in labeled:
            yield f"a field has no label: {each}"
        if "placeholder" in each:
            yield f"a field has a placeholder: {each}"


def _check_forms(page: Page) -> Iterator[str]:
    for form in page.forms:
        attributes = form[0][1]
        tokens = sum(each.get("name") == "csrf" for _, each in form)
        if tokens != (attributes.get("method") == "post"):
            yield f"the form {attributes} has {tokens} csrf fields"
        files = any(each.get("type") == "file" for _, each in form)
        if files and attributes.get("enctype") != "multipart/form-data":
            yield f"the form {attributes} cannot send its files"
        if not any(tag == "button" for tag, _ in form):
            yield f"the form {attributes} has no button"


def _check_addresses(page: Page) -> Iterator[str]:
    for tag, each in page.elements:
        for name in PATHS:
            if name in each and (each[name][:1] not in ("/", "#") or each[name].startswith("//")):
                yield f"{tag} {name}={each[name]!r} is neither a path nor a fragment"
        if any(name.startswith("on") for name in each):
            yield f"{tag} has a script in an attribute: {each}"
