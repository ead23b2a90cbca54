"""Serve the static files of a simulator: style sheets, scripts and images from its package."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from clerkship.sandbox.request import Refusal, Reply, Request

CACHE_CONTROL = "public, max-age=86400, immutable"
"""Each run has its own sandbox addresses, and the files do not change during a run."""
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Listed here because the results of `mimetypes` differ between machines."""
ALLOWED = {"Allow": "GET, HEAD"}


@dataclass(frozen=True, slots=True)
class Asset:
    """One static file with its media type and ETag."""

    data: bytes
    media: str
    etag: str

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a reply with this file."""
        return {"ETag": self.etag, "Cache-Control": CACHE_CONTROL, "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True)
class AssetFolder:
    """A folder of package data that is served under a path.

    The files are public: a browser sends no credential for a script or an image, and the files contain nothing of a
    run. Requests for them log no event, change no state and trigger no fault.
    """

    prefix: str
    """Where the files are served, such as `/static`."""
    package: str
    """The package that holds the folder, such as `clerkship.simulators.portal`."""
    folder: str = "assets"

    def __post_init__(self) -> None:
        if not self.prefix.startswith("/") or self.prefix.endswith("/"):
            raise ValueError(f"the prefix of assets must start with a slash and not end with one: {self.prefix!r}")

    def covers(self, request: Request) -> bool:
        """Return whether the path of a request is below the prefix."""
        return request.path.startswith(f"{self.prefix}/")

    def serve(self, request: Request) -> Reply:
        """Return the reply to a request below the prefix.

        Raise Refusal for a file that does not exist, and for methods other than GET and HEAD.
        """
        if request.method not in ("GET", "HEAD"):
            raise Refusal(405, "method_not_allowed", "static files allow only GET and HEAD", ALLOWED)
        asset = self._find(request.path.removeprefix(f"{self.prefix}/"))
        if _matches_etag(request.headers.get("if-none-match", ""), asset.etag):
            return Reply(304, headers=asset.headers)
        return Reply(200, asset.data, asset.media, asset.headers)

    def _find(self, path: str) -> Asset:
        """Return a file by its exact path. Only paths that exist in the package are read, so `..` cannot leave the
        folder.
        """
        if path not in self._files:
            raise Refusal(404, "no_such_asset", f"static file `{path[:200]}` does not exist")
        if path not in self._loaded:
            data = self._files[path].read_bytes()
            media = MEDIA_TYPES.get(PurePosixPath(path).suffix.lower(), "application/octet-stream")
            self._loaded[path] = Asset(data, media, f'"{sha256(data).hexdigest()[:32]}"')
        return self._loaded[path]

    @cached_property
    def _files(self) -> Mapping[str, Traversable]:
        return dict(_list_files(files(self.package) / self.folder, ""))

    @cached_property
    def _loaded(self) -> dict[str, Asset]:
        return {}


def _list_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _list_files(entry, f"{prefix}{entry.name}/")
        elif not entry.name.endswith((".py", ".pyc")):
            yield f"{prefix}{entry.name}", entry


def _matches_etag(condition: str, etag: str) -> bool:
    """Return whether an `If-None-Match` header contains the ETag; weak tags match too (RFC 9110 §13.1.2)."""
    tags = [tag.strip().removeprefix("W/") for tag in condition.split(",")]
    return "*" in tags or etag in tags
