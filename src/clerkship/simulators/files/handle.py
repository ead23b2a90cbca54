"""A file drop as an agent written in Python holds it."""

from urllib.parse import quote

from clerkship.sandbox.door import Handle


class Files(Handle):
    """List, read, write and delete by path."""

    def list(self, prefix: str = "") -> list[str]:
        """Paths, all or those in a folder."""
        found = self._json("GET", "/files", query={"prefix": prefix})
        return [file["path"] for file in found["files"]]

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

    def url_of(self, path: str) -> str:
        """Where a file is over HTTP."""
        return f"{self.url}/files/{quote(path)}"
