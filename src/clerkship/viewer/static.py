"""The scripts and styles of the pages. An address that has the digest of a file never changes its content."""

import hashlib
from functools import cache
from typing import NamedTuple

from clerkship.report.pages import read_part
from clerkship.sandbox.request import Refusal, Reply, Request
from clerkship.transports.assets import MEDIA_TYPES
from clerkship.viewer.context import PREFIX, ViewerContext

FILES = {
    "viewer.js": ("built/viewer.js",),
    "viewer.css": tuple(
        f"{name}.css" for name in ("style", "overview", "calls", "lanes", "comparison", "moment", "viewer", "play")
    ),
}
"""What is served, and the parts of the report's page that each is made of."""
_UNCHANGING, _CHANGING = "private, max-age=31536000, immutable", "private, no-cache"


class StaticFile(NamedTuple):
    """A file with its digest."""

    data: bytes
    digest: str


@cache
def load_file(name: str) -> StaticFile:
    """Return a file by its name. Raise KeyError for any other."""
    data = "\n".join(map(read_part, FILES[name])).encode()
    return StaticFile(data, hashlib.sha256(data).hexdigest()[:32])


def link(name: str, prefix: str = PREFIX) -> str:
    """Return the address of a file."""
    return f"{prefix}/static/{name}?v={load_file(name).digest}"


def read_static(context: ViewerContext, request: Request, name: str) -> Reply:
    """Answer with a file."""
    if name not in FILES:
        raise Refusal(404, "no_such_file", "there is no such file")
    file = load_file(name)
    headers = {
        "etag": f'"{file.digest}"',
        "cache-control": _UNCHANGING if request.query.get("v") == file.digest else _CHANGING,
    }
    if request.headers.get("if-none-match") == headers["etag"]:
        return Reply(304, headers=headers)
    return Reply(200, file.data, MEDIA_TYPES[f".{name.rpartition('.')[2]}"], headers)
