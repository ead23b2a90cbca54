"""Fill the templates of a task with the values of its entities."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from clerkship.model.names import did_you_mean
from clerkship.model.variables import escape, escape_text, join_escaped
from clerkship.suite_files.template import (
    BadTemplate,
    FindFilter,
    SingleValue,
    find_built_in_filter,
    find_template_mistakes,
    render_parts,
)

MAX_OUTPUT_LENGTH = 10_000_000
MAX_MISTAKES = 20
"""The maximum number of mistakes that are reported for one text."""
DataPath = list[int | str]


@dataclass
class TemplateFiller:
    """Fills the templates of one task. Each invalid one is reported at its place, or skipped."""

    values: Mapping[str, Any]
    unbound: Collection[str]
    """Names without a value, which is already reported. Templates that use them are skipped."""
    report: Callable[[DataPath, str, str], None]
    silence: Callable[[DataPath], None]
    """Called after the mistakes of a text are reported, because no other check of it has a meaning."""
    remaining: int = MAX_OUTPUT_LENGTH
    failed: bool = False
    """Whether a template could not be filled."""
    escapes: bool = True
    """Whether `${NAME}` in values is escaped. Queries are not expanded, so nothing is escaped in them."""
    find: FindFilter = find_built_in_filter
    """Return the filter with a name."""

    def fill(self, data: Any, path: DataPath) -> Any:
        """Return the data with every template filled."""
        if isinstance(data, str):
            return self._fill_text(data, path) if "{{" in data or "{%" in data else data
        if isinstance(data, dict):
            return {key: self.fill(value, [*path, key]) for key, value in data.items()}
        if isinstance(data, list):
            return [self.fill(value, [*path, number]) for number, value in enumerate(data)]
        return data

    def fill_file(self, text: str, path: DataPath, report: Callable[[int, str, str], None]) -> str:
        """Fill the templates of a file that a path refers to. It is not YAML, so it has no variables."""
        if "{{" not in text and "{%" not in text:
            return escape_text(text)
        parts = self._render(text, path, lambda bad, hint: report(bad.offset, bad.message, hint), "".join, alone=False)
        return escape_text(str(parts))

    def _fill_text(self, text: str, path: DataPath) -> Any:
        join = join_escaped if self.escapes else "".join
        return self._render(text, path, lambda bad, hint: self.report(path, bad.message, hint), join)

    def _render(
        self,
        text: str,
        path: DataPath,
        report: Callable[[BadTemplate, str], None],
        join: Callable[[list[str]], str],
        *,
        alone: bool = True,
    ) -> Any:
        if self.remaining < 0:
            self.failed = True
            self.silence(path)
            return text
        try:
            rendered = render_parts(text, self.values, self.find, alone=alone)
        except BadTemplate as first:
            self.failed = True
            for bad in self._find_mistakes(text, first):
                hint = did_you_mean(bad.unknown, [*self.values, *self.unbound]) if bad.unknown else ""
                report(bad, hint or bad.hint)
            self.silence(path)
            return text
        value = self._escape(rendered.value) if isinstance(rendered, SingleValue) else join(rendered)
        self.remaining -= len(orjson.dumps(value))
        if self.remaining < 0:
            self.report(path, f"the task's templates write more than {MAX_OUTPUT_LENGTH:,} characters in total", "")
            self.silence(path)
        return value

    def _find_mistakes(self, text: str, first: BadTemplate) -> list[BadTemplate]:
        """Return all mistakes in a text, except names without a value. `first` may be about the text as a whole."""
        mistakes = list(islice(find_template_mistakes(text, self.values, self.find), MAX_MISTAKES)) or [first]
        return [bad for bad in mistakes if not bad.unknown or bad.unknown not in self.unbound]

    def _escape(self, value: Any) -> Any:
        return escape(value) if self.escapes else value
