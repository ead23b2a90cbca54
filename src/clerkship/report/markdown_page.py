"""A page of Markdown of limited size, built from whole pieces while they fit."""

from collections.abc import Iterable

MAX_SUMMARY_BYTES = 1_000_000
"""Bytes that a job's summary may have: GitHub takes 1 MiB."""
MAX_COMMENT_BYTES = 65_000
"""Bytes that fit a comment: GitHub takes 65,536 characters."""
MIN_PAGE_BYTES = 10_000
"""The lowest limit of a page."""
MAX_MISFITS = 5
"""Pieces that do not fit before the rest is skipped."""


class MarkdownPage:
    """Pieces of Markdown, and the bytes left for more."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._pieces: list[str] = []

    def add(self, piece: str, *, needed: bool = False) -> bool:
        """Add a piece if it fits, or if it is needed; space for a needed piece is reserved by the caller."""
        size = len(piece.encode())
        if size > self.room and not needed:
            return False
        self.room -= min(size, self.room)
        self._pieces.append(piece)
        return True

    def add_all(self, head: str, pieces: Iterable[str], total: int, *, share: float, what: str) -> None:
        """Add as many pieces as fit in a share of the space, and say how many were left out."""
        if total == 0:
            return
        keep = self.room - int(self.room * share)
        self.add(head)
        done = misfits = 0
        for piece in pieces:
            if self.room - len(piece.encode()) < keep or not self.add(piece):
                misfits += 1  # a shorter one may still fit
                if misfits > MAX_MISFITS:
                    break
                continue
            done += 1
        if done < total:
            self.add(f"\n<p><i>{total - done:,} {what} are left out here.</i></p>\n")

    def text(self) -> str:
        return "".join(self._pieces)
