"""Build the documentation site from docs/ into .cache/site/html, without a network.

The pages under docs/ are read as they are in the repository. What they link to outside docs/ becomes a page of the site
too: Markdown as it is, other files as code. The navigation is that of docs/README.md.

uv run --group site --extra fax python -m scripts.site [FOLDER]

See docs/decisions/0035-docs-site.md
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parent.parent
INDEX, HOME = "docs/README.md", "docs/index.md"
PICTURES = (".png", ".svg")
LIST = "llms.txt"
"""The list of pages for models, which is at the root of a site by convention."""
PICTURE, REPORT = "report.png", "demo/report.html"
"""The picture of the report on the home page, and the page that the site shows instead."""
STAY = """if (self !== top) Element.prototype.scrollIntoView = function () {
  scrollTo(0, scrollY + this.getBoundingClientRect().top - innerHeight / 3);
};"""
"""Lets the report in a frame scroll itself to the failed criterion, and not the page around it."""
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)]*)?\)")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
FILE_BLOCK = re.compile(r"^```(\w+)\n# file: (.+)\n", re.MULTILINE)
ENTRY = re.compile(r"^\| \[([^\]]+)\]\(([^)#]+)\)", re.MULTILINE)
ATTRIBUTE = re.compile(r"<(\w+)\b[^>]*?\s(?:href|src)=\"?([^\"\s>]+)")
LOADED = {"audio", "embed", "iframe", "img", "link", "object", "script", "source", "video"}
"""Elements whose address the browser loads with the page; it follows those of others when it is asked to."""
IDENTIFIER = re.compile(r"\sid=\"?([^\"\s>]+)")

Nav: TypeAlias = "list[str | dict[str, str | Nav]]"


def main(folder: Path) -> None:
    """Build the site in `html` of a folder, and check it."""
    pages = collect_pages()
    shutil.rmtree(folder, ignore_errors=True)
    for source in pages:
        target = folder / "pages" / get_site_path(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(PICTURES):
            shutil.copyfile(ROOT / source, target)
        else:
            target.write_text(render(source), encoding="utf-8")
    for asset in (ROOT / "scripts" / "site_assets").iterdir():
        shutil.copyfile(asset, folder / "pages" / asset.name)
    write_report(folder)
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (folder / "mkdocs.yml").write_text(f"{config}\nnav: {json.dumps(build_nav())}\n", encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", "mkdocs.yml"]
    if code := subprocess.run(command, cwd=folder, check=False).returncode:
        sys.exit(code)
    (folder / "html" / LIST).write_text(render_list(), encoding="utf-8")
    if mistakes := [*find_mistakes(folder / "html")]:
        sys.exit("\n".join(mistakes))
    site = os.path.relpath(folder / "html")
    print(f"{len(pages)} pages and pictures; to read them: python3 -m http.server -b 127.0.0.1 -d {site}")


def write_report(folder: Path) -> None:
    """Run the demo, and write the report of the task that fails."""
    path = folder / "pages" / REPORT
    path.parent.mkdir(parents=True)
    command = ["-m", "clerkship", "demo", "--no-open", "--report", str(path), "--store", str(folder / "demo.db")]
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    text = path.read_text(encoding="utf-8").replace(f"{ROOT}/", "")
    path.write_text(text.replace("<head>", f"<head>\n<script>{STAY}</script>", 1), encoding="utf-8")


def collect_pages() -> list[str]:
    """Return what the site shows: the files under docs/, and all that can be reached from them by links."""
    waiting = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*") if path.is_file()]
    found: set[str] = set()
    while waiting:
        source = waiting.pop()
        if source not in found:
            found.add(source)
            waiting += [target for target, _ in find_links(source) if target]
    return sorted(found)


def find_links(source: str) -> Iterator[tuple[str | None, str]]:
    """Yield the links of a page outside its code: the file in the repository, if it is one, and how it is written."""
    if source.endswith(".md"):
        for match in LINK.finditer(BLOCK.sub("", read(source))):
            yield resolve(source, match[1]), match[0]


def resolve(source: str, link: str) -> str | None:
    """Return the file in the repository that a link of a page leads to; None if it leads elsewhere."""
    path = os.path.normpath(PurePosixPath(source).parent / link)
    return path if link and (ROOT / path).is_file() else None


@cache
def read(source: str) -> str:
    """Return the text of a file of the repository."""
    return (ROOT / source).read_text(encoding="utf-8")


def get_site_path(source: str) -> str:
    """Return where a file of the repository is among the pages of the site."""
    if source == INDEX:
        return "contents.md"  # a folder has either index.md or README.md
    path = source.removeprefix("docs/") if source.startswith("docs/") else f"repository/{source}"
    if path.endswith("/README.md"):  # a folder under docs/ is a section of the site, another is one page
        return f"{path.removesuffix('README.md')}index.md" if source.startswith("docs/") else f"{Path(path).parent}.md"
    if path.endswith((".md", *PICTURES)):
        return path
    return f"{path}.md".replace("/.", "/")  # hidden files are not built


def render(source: str) -> str:
    """Return a file of the repository as a page of the site."""
    if not source.endswith(".md"):
        language = {".py": "python", ".yml": "yaml", ".yaml": "yaml"}.get(Path(source).suffix, "text")
        return f"# {PurePosixPath(source).name}\n\n`{source}`\n\n```{language}\n{read(source)}\n```\n"
    text, start, parts = read(source), 0, []
    for block in BLOCK.finditer(text):
        parts += [rewrite_prose(source, text[start : block.start()]), FILE_BLOCK.sub(r'```\1 title="\2"\n', block[0])]
        start = block.end()
    parts.append(rewrite_prose(source, text[start:]))
    return ("---\nhide: [navigation, toc]\n---\n" if source == HOME else "") + "".join(parts)


def rewrite_prose(source: str, text: str) -> str:
    """Let links lead to pages of the site, and show the report of the demo instead of its picture."""
    here = PurePosixPath(get_site_path(source)).parent

    def rewrite(match: re.Match[str]) -> str:
        target = resolve(source, match[1])
        if target is None:
            return match[0]
        return f"]({os.path.relpath(get_site_path(target), here)}{match[2] or ''})"

    if source == HOME:
        text = re.sub(rf"^!\[(.+)\]\({PICTURE}\)$", show_report, text, flags=re.MULTILINE)
    # Python-Markdown does not split cells at bars in code, so it does not take their backslashes away either.
    text = re.sub(r"^\|.*\|$", lambda row: re.sub(r"`[^`]+`", _unescape_bars, row[0]), text, flags=re.MULTILINE)
    return LINK.sub(rewrite, text)


def render_list() -> str:
    """Return the list of pages for models, with links to the pages of the site."""

    def rewrite(match: re.Match[str]) -> str:
        return f"]({get_site_path(resolve(LIST, match[1]) or match[1]).removesuffix('.md')}.html)"

    return LINK.sub(rewrite, read(LIST))


def _unescape_bars(code: re.Match[str]) -> str:
    return code[0].replace("\\|", "|")


def show_report(picture: re.Match[str]) -> str:
    """Return the report of the demo as a frame in place of its picture."""
    frame = f'<iframe class="report" src="{REPORT}#failed" title="{html.escape(picture[1])}" loading="lazy"></iframe>'
    return (
        f'{frame}\n\n<a href="{REPORT}">The whole report</a> is what `clerkship demo` wrote when this site was built.'
    )


def build_nav() -> Nav:
    """Return the navigation: the home page, and a tab for each section of docs/README.md."""
    tabs: Nav = [{"Home": "index.md"}]
    for title, entries in read_sections(INDEX):
        below: Nav = []
        for text, target in entries:
            if target.startswith("docs/") and target.endswith("/README.md"):
                folder: Nav = [get_site_path(target), *build_folder_nav(target)]
                below += folder if len(entries) == 1 else [{text: folder}]
            else:
                below.append({text: get_site_path(target)})
        tabs.append({title: below})
    tabs[-1] = {title: [{"All pages": get_site_path(INDEX)}, *below]}
    return tabs


def build_folder_nav(index: str) -> Nav:
    """Return the pages that the README.md of a folder lists, in its sections if it has any."""
    nav: Nav = []
    for title, entries in read_sections(index):
        pages: Nav = [
            get_site_path(target) if text.isdigit() else {text[0].upper() + text[1:]: get_site_path(target)}
            for text, target in entries
        ]
        nav += [{title: pages}] if title else pages
    return nav


def read_sections(index: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the sections of a list of pages: the heading, and the text and target of the first link of each row."""
    head, *parts = re.split(r"^## (.+)$", read(index), flags=re.MULTILINE)
    for title, body in [("", head), *zip(parts[::2], parts[1::2], strict=True)]:
        if entries := [(text.strip("`"), resolve(index, link) or "") for text, link in ENTRY.findall(body)]:
            yield title, entries


def find_mistakes(site: Path) -> Iterator[str]:
    """Yield links of built pages that lead nowhere, and what they would load from elsewhere."""
    texts = {page: page.read_text(encoding="utf-8") for page in sorted(site.rglob("*.html"))}
    texts.pop(site / "404.html")  # served for any address
    texts.pop(site / REPORT)  # loads nothing, and a program in it finds its anchors
    anchors = {page: {html.unescape(each) for each in IDENTIFIER.findall(text)} for page, text in texts.items()}
    for page, text in texts.items():
        name = page.relative_to(site)
        for element, value in sorted(set(ATTRIBUTE.findall(text))):
            address = urlsplit(html.unescape(value))
            if address.scheme or address.netloc:
                if element in LOADED:
                    yield f"{name} loads {value}"
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            if not target.is_file():
                yield f"{name} links to {value}, which does not exist"
            elif target in anchors and address.fragment and unquote(address.fragment) not in anchors[target]:
                yield f"{name} links to {value}, which has no such heading"


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT / ".cache" / "site")
