"""The Python client of a `files` sandbox."""

from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import quote

from clerkship.sandbox.handle import Handle
from clerkship.sandbox.request import ConnectionInfo


class Files(Handle):
    """Lists, reads, writes, renames and deletes files by path."""

    def list(self, prefix: str = "") -> list[str]:
        """Return the paths of all files, or of those below a folder."""
        listing = self._json("GET", "/files", query={"prefix": prefix})
        return [file["path"] for file in listing["files"]]

    def entries(self, folder: str = "") -> Sequence[dict[str, Any]]:
        """Return the entries of a folder: `name`, `folder`, `size` and `modified` of each."""
        return cast(Sequence[dict[str, Any]], self._json("GET", f"/folders/{folder}".removesuffix("/"))["entries"])

    def stat(self, path: str) -> dict[str, Any]:
        """Describe a file or folder: `path`, `folder`, `size` and `modified`."""
        return self._object("GET", f"/stat/{path}")

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        return self.request("GET", f"/files/{path}").body

    def read_text(self, path: str) -> str:
        """Return the text of a file."""
        return self.read(path).decode()

    def write(self, path: str, data: str | bytes) -> None:
        """Create a file, or replace its content."""
        body = data.encode() if isinstance(data, str) else data
        self.request("PUT", f"/files/{path}", body=body, media="application/octet-stream")

    def delete(self, path: str) -> None:
        """Delete a file."""
        self.request("DELETE", f"/files/{path}")

    def rename(self, path: str, to: str, *, replace: bool = False) -> None:
        """Move a file, or a folder with its content, to another path."""
        self._json("POST", "/rename", {"from": path, "to": to, "replace": replace})

    def make_folder(self, path: str) -> None:
        """Create an empty folder."""
        self.request("PUT", f"/folders/{path}")

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        self.request("DELETE", f"/folders/{path}")

    def url_of(self, path: str) -> str:
        """Return the URL of a file."""
        return f"{self.url}/files/{quote(path)}"

    @property
    def sftp(self) -> ConnectionInfo:
        """How to connect over SFTP: host, port, user, password, keys."""
        return self._find_listener("sftp")
