"""A file drop as an agent written in Python holds it."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from clerkship.sandbox.handle import Handle
from clerkship.sandbox.listener import ConnectionInfo


class Files(Handle):
    """List, read, write, rename and delete by path."""

    def list(self, prefix: str = "") -> list[str]:
        """Paths of files, all or those below a folder."""
        found = self._json("GET", "/files", query={"prefix": prefix})
        return [file["path"] for file in found["files"]]

    def entries(self, folder: str = "") -> Sequence[dict[str, Any]]:
        """What is in one folder: `name`, `folder`, `size` and `modified` of each."""
        found: Sequence[dict[str, Any]] = self._json("GET", f"/folders/{folder}".removesuffix("/"))["entries"]
        return found

    def stat(self, path: str) -> dict[str, Any]:
        """What is at a path: `path`, `folder`, `size` and `modified`."""
        found: dict[str, Any] = self._json("GET", f"/stat/{path}")
        return found

    def read(self, path: str) -> bytes:
        """A file's bytes."""
        return self.request("GET", f"/files/{path}").body

    def read_text(self, path: str) -> str:
        """A file's text."""
        return self.read(path).decode()

    def write(self, path: str, data: str | bytes) -> None:
        """Make a file, or make it anew."""
        body = data.encode() if isinstance(data, str) else data
        self.request("PUT", f"/files/{path}", body=body, media="application/octet-stream")

    def delete(self, path: str) -> None:
        """Remove a file."""
        self.request("DELETE", f"/files/{path}")

    def rename(self, path: str, to: str, *, replace: bool = False) -> None:
        """Move a file, or a folder with all that is in it, to another path."""
        self._json("POST", "/rename", {"from": path, "to": to, "replace": replace})

    def make_folder(self, path: str) -> None:
        """Make an empty folder."""
        self.request("PUT", f"/folders/{path}")

    def remove_folder(self, path: str) -> None:
        """Remove a folder that is empty."""
        self.request("DELETE", f"/folders/{path}")

    def url_of(self, path: str) -> str:
        """Where a file is over HTTP."""
        return f"{self.url}/files/{quote(path)}"

    @property
    def sftp(self) -> ConnectionInfo:
        """How to reach the same drop over SFTP: host, port, user, password, keys."""
        found = self.lines.get("sftp")
        if found is None:
            raise KeyError("SFTP is not there: pip install clerkship[sftp], in the environment that clerkship runs in")
        return found
