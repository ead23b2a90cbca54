"""The values of a task's entities into its templates."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from clerkship.fhir import exact
from clerkship.fhir.record import Charted
from clerkship.library.template import BadTemplate, render
from clerkship.model.names import did_you_mean

MOST_WRITTEN = 10_000_000
Path = list[int | str]


@dataclass
class Filler:
    """Fills the templates of one task; each bad one is reported at its place, or passed over."""

    values: Mapping[str, Any]
    unbound: Collection[str]
    """Names whose own mistake has been reported: what uses them is passed over."""
    complain: Callable[[Path, str, str], None]
    pass_over: Callable[[Path], None]
    room: int = MOST_WRITTEN
    failed: bool = False
    """Whether something could not be filled in."""

    def fill(self, data: Any, path: Path) -> Any:
        """The same data with every template filled in."""
        if isinstance(data, str):
            return self._fill_text(data, path) if "{{" in data or "{%" in data else data
        if isinstance(data, dict):
            return {key: self.fill(value, [*path, key]) for key, value in data.items()}
        if isinstance(data, list):
            return [self.fill(value, [*path, number]) for number, value in enumerate(data)]
        return data

    def fill_file(self, text: str, path: Path, complain: Callable[[int, str, str], None]) -> str:
        """What a file says that is named at a path, its templates filled in; each mistake is reported where it is."""
        if "{{" not in text and "{%" not in text:
            return text
        filled = self._filled(text, path, lambda bad, hint: complain(bad.at, bad.message, hint), alone=False)
        return str(filled)

    def _fill_text(self, text: str, path: Path) -> Any:
        return self._filled(text, path, lambda bad, hint: self.complain(path, bad.message, hint))

    def _filled(
        self, text: str, path: Path, complain: Callable[[BadTemplate, str], None], *, alone: bool = True
    ) -> Any:
        if self.room < 0:
            self.failed = True
            self.pass_over(path)
            return text
        try:
            value = _plain(render(text, self.values, alone=alone))
        except BadTemplate as bad:
            self.failed = True
            if bad.unknown and bad.unknown in self.unbound:
                self.pass_over(path)
            else:
                hint = did_you_mean(bad.unknown, [*self.values, *self.unbound]) if bad.unknown else ""
                complain(bad, hint or bad.hint)
            return text
        self.room -= len(orjson.dumps(value))
        if self.room < 0:
            self.complain(path, f"the task's templates write more than {MOST_WRITTEN:,} characters in all", "")
        return value


def _plain(value: Any) -> Any:
    """As JSON has it: a resource without what it knows besides, and numbers as any reader has them."""
    if isinstance(value, Charted) or exact.is_exact(value):
        return orjson.loads(exact.dumps(value))
    return value
