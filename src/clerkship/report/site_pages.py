"""Pages of a payer portal in the HTML report, as they were sent: without scripts, each once."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from clerkship.report.detail import TaskDetail

MAX_SITE_PAGES = 300
"""Pages of one report."""
MAX_SITE_BYTES = 4 * 1024 * 1024
"""Bytes of all pages in one report."""
_NO_LINKS = "\na, button { pointer-events: none; }\n"
"""Added to each style sheet, because a link in the frame would leave the page."""
_STYLE = re.compile(r'<link rel="stylesheet" href="/static/([a-z_]+/[a-z_]+\.css)">')
_SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL)
_ICON = re.compile(r'<link rel="icon"[^>]*>')


def build_site_pages(details: Sequence[TaskDetail], shown: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the pages of the trials whose logs are shown, by hash, and the style sheets that they use."""
    pages: dict[str, str] = {}
    styles: dict[str, str] = {}
    left_out, room = 0, MAX_SITE_BYTES
    for digest, read in _list_pages(details, shown):
        if digest in pages:
            continue
        html = _ICON.sub("", _SCRIPT.sub("", read().decode(errors="replace")))
        if len(pages) >= MAX_SITE_PAGES or len(html) > room:
            left_out += 1
            continue
        room -= len(html)
        pages[digest] = html
        for name in _STYLE.findall(html):
            if name not in styles:
                styles[name] = _read_style(name)
    return {"site_pages": pages, "site_styles": styles, "site_pages_left_out": left_out}


def _list_pages(
    details: Sequence[TaskDetail], shown: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, Callable[[], bytes]]]:
    for detail, place in zip(details, shown, strict=True):
        if place.get("log"):
            yield from detail.site_pages.items()


def list_styles() -> list[str]:
    """Return all style sheets that pages of portals may use."""
    assets = files("clerkship.simulators.portal") / "assets"
    return [
        _read_style(f"{folder.name}/{style.name}")
        for folder in sorted(assets.iterdir(), key=lambda each: each.name)
        if folder.is_dir()
        for style in sorted(folder.iterdir(), key=lambda each: each.name)
        if style.name.endswith(".css")
    ]


def _read_style(name: str) -> str:
    asset = files("clerkship.simulators.portal") / "assets" / name
    return asset.read_text(encoding="utf-8") + _NO_LINKS if asset.is_file() else ""
