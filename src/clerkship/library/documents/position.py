"""Where in a JSON text something stands. Only asked when there is something to complain of."""

import json
import re
from collections.abc import Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]

JsonPath = Sequence[int | str]
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class JsonPositions:
    """Places in one text; what has been gone over once is remembered."""

    def __init__(self, data: bytes) -> None:
        self._text = data.decode("utf-8-sig", errors="replace")
        self._children: dict[int, dict[int | str, int]] = {}

    def locate(self, path: JsonPath) -> tuple[int, int]:
        """Line and column of what a path leads to, or of the nearest thing around it."""
        at = self._after_space(0)
        for part in path:
            found = self._inside(at).get(part)
            if found is None:
                break
            at = found
        line = self._text.count("\n", 0, at) + 1
        return line, at - (self._text.rfind("\n", 0, at) + 1) + 1

    def _after_space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found is not None else at

    def _inside(self, at: int) -> dict[int | str, int]:
        if at not in self._children:
            try:
                self._children[at] = self._walk(at)
            except (ValueError, IndexError, RecursionError):
                self._children[at] = {}
        return self._children[at]

    def _walk(self, at: int) -> dict[int | str, int]:
        """Where each part of the map or list that begins here begins."""
        opening = self._text[at]
        found: dict[int | str, int] = {}
        if opening not in "{[":
            return found
        at = self._after_space(at + 1)
        while self._text[at] not in "}]":
            name: int | str = len(found)
            if opening == "{":
                name, at = scanstring(self._text, at + 1)
                at = self._after_space(self._after_space(at) + 1)
            found[name] = at
            _, at = _DECODER.raw_decode(self._text, at)
            at = self._after_space(at)
            if self._text[at] == ",":
                at = self._after_space(at + 1)
        return found
