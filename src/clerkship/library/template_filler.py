"""Fill the templates of a task with the values of its entities."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from clerkship.library.template import BadTemplate, FindFilter, SingleValue, find_built_in_filter, render_parts
from clerkship.model.names import did_you_mean
from clerkship.model.variables import escape, escape_text, join_escaped

MAX_OUTPUT_LENGTH = 10_000_000
DataPath = list[int | str]


@dataclass
class TemplateFiller:
    """Fills the templates of one task. Each invalid one is reported at its place, or skipped."""

    values: Mapping[str, Any]
    unbound: Collection[str]
    """Names whose own mistake has been reported: what uses them is passed over."""
    complain: Callable[[DataPath, str, str], None]
    pass_over: Callable[[DataPath], None]
    room: int = MAX_OUTPUT_LENGTH
    failed: bool = False
    """Whether something could not be filled in."""
    escapes: bool = True
    """Whether `${NAME}` in values is escaped. Not in queries: they are not expanded."""
    find: FindFilter = find_built_in_filter
    """Where filters are looked up."""

    def fill(self, data: Any, path: DataPath) -> Any:
        """Return the data with every template filled."""
        if isinstance(data, str):
            return self._fill_text(data, path) if "{{" in data or "{%" in data else data
        if isinstance(data, dict):
            return {key: self.fill(value, [*path, key]) for key, value in data.items()}
        if isinstance(data, list):
            return [self.fill(value, [*path, number]) for number, value in enumerate(data)]
        return data

    def fill_file(self, text: str, path: DataPath, complain: Callable[[int, str, str], None]) -> str:
        """Fill the templates of a file that a path refers to. It is not YAML, so it has no variables."""
        if "{{" not in text and "{%" not in text:
            return escape_text(text)
        parts = self._filled(
            text, path, lambda bad, hint: complain(bad.offset, bad.message, hint), "".join, alone=False
        )
        return escape_text(str(parts))

    def _fill_text(self, text: str, path: DataPath) -> Any:
        join = join_escaped if self.escapes else "".join
        return self._filled(text, path, lambda bad, hint: self.complain(path, bad.message, hint), join)

    def _filled(
        self,
        text: str,
        path: DataPath,
        complain: Callable[[BadTemplate, str], None],
        join: Callable[[list[str]], str],
        *,
        alone: bool = True,
    ) -> Any:
        if self.room < 0:
            self.failed = True
            self.pass_over(path)
            return text
        try:
            rendered = render_parts(text, self.values, self.find, alone=alone)
        except BadTemplate as bad:
            self.failed = True
            if bad.unknown and bad.unknown in self.unbound:
                self.pass_over(path)
            else:
                hint = did_you_mean(bad.unknown, [*self.values, *self.unbound]) if bad.unknown else ""
                complain(bad, hint or bad.hint)
            return text
        value = self._escaped(rendered.value) if isinstance(rendered, SingleValue) else join(rendered)
        self.room -= len(orjson.dumps(value))
        if self.room < 0:
            self.complain(path, f"the task's templates write more than {MAX_OUTPUT_LENGTH:,} characters in all", "")
        return value

    def _escaped(self, value: Any) -> Any:
        return escape(value) if self.escapes else value
