"""Find the line and column of a value in a JSON text. This is only done to report a problem."""

import json
import re
from collections.abc import Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]

JsonPath = Sequence[int | str]
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class JsonPositions:
    """The positions of values in one JSON text. Scanned parts are cached."""

    def __init__(self, data: bytes) -> None:
        self._text = data.decode("utf-8-sig", errors="replace")
        self._children: dict[int, dict[int | str, int]] = {}

    def locate(self, path: JsonPath) -> tuple[int, int]:
        """Return the line and column of a path, or of its nearest existing parent."""
        at = self._after_space(0)
        for part in path:
            child = self._find_children(at).get(part)
            if child is None:
                break
            at = child
        line = self._text.count("\n", 0, at) + 1
        return line, at - (self._text.rfind("\n", 0, at) + 1) + 1

    def _after_space(self, at: int) -> int:
        space = _SPACE.match(self._text, at)
        return space.end() if space is not None else at

    def _find_children(self, at: int) -> dict[int | str, int]:
        if at not in self._children:
            try:
                self._children[at] = self._scan_children(at)
            except (ValueError, IndexError, RecursionError):
                self._children[at] = {}
        return self._children[at]

    def _scan_children(self, at: int) -> dict[int | str, int]:
        """Return the start of each child of the map or list at an offset."""
        opening = self._text[at]
        children: dict[int | str, int] = {}
        if opening not in "{[":
            return children
        at = self._after_space(at + 1)
        while self._text[at] not in "}]":
            name: int | str = len(children)
            if opening == "{":
                name, at = scanstring(self._text, at + 1)
                at = self._after_space(self._after_space(at) + 1)
            children[name] = at
            _, at = _DECODER.raw_decode(self._text, at)
            at = self._after_space(at)
            if self._text[at] == ",":
                at = self._after_space(at + 1)
        return children
