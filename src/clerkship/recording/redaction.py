"""What may not stand in a cassette, and what stands there instead: names for what differs between machines, marks for
what opens something."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

import orjson

from clerkship.kit.text import writable
from clerkship.model.redaction import MIN_EXACT, MIN_SECRET

_MADE_ANEW = (
    ("clk_", re.compile(r"clk_(?:sbx|ses|oat)_[A-Za-z0-9_-]{43}"), "[token]"),
    ("/pg-", re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\]):\d+/pg-[0-9a-f]{16}"), "[address]/[playground]"),
    ("pg-", re.compile(r"\bpg-[0-9a-f]{16}\b"), "[playground]"),
    ("earer", re.compile(r"(?i)\b(bearer)\s+[A-Za-z0-9._~+/-]{16,}=*"), r"\1 [token]"),
    ("asic ", re.compile(r"(?i)\b(basic)\s+[A-Za-z0-9+/]{16,}=*"), r"\1 [token]"),
)
"""What each run makes for itself, or what nobody should say aloud: a sign of it, which is looked for first, its form,
and what stands there instead."""


class CassetteRedactor(NamedTuple):
    """Values that are not written down: those of some names, and those that are nobody's business."""

    names: Mapping[str, str] = {}
    """What stands for `${NAME}`, by name."""
    secrets: tuple[str, ...] = ()

    def with_names(self, names: Mapping[str, str]) -> "CassetteRedactor":
        """With more names."""
        return self._replace(names={**self.names, **names}) if names else self

    def hide(self, data: Any) -> Any:
        """The same data as it may be written down."""
        if isinstance(data, str):
            return self._hidden(data)
        if isinstance(data, dict):
            return {self._hidden(key): self.hide(value) for key, value in data.items()}
        return [self.hide(value) for value in data] if isinstance(data, list | tuple) else data

    def show(self, data: Any) -> Any:
        """What was written down, with this machine's values for names; secrets stay what they are, marks."""
        if not self.names:
            return data
        if isinstance(data, str):
            return self._shown(data) if "${" in data else data
        if isinstance(data, dict):
            return {self._shown(key): self.show(value) for key, value in data.items()}
        return [self.show(value) for value in data] if isinstance(data, list | tuple) else data

    def _hidden(self, text: str) -> str:
        text = self._named(writable(text)) if self.names else writable(text)
        for secret in self.secrets:
            for form in _forms(secret):
                text = text.replace(form, "[secret]")
        for sign, pattern, instead in _MADE_ANEW:
            if sign in text:
                text = pattern.sub(instead, text)
        return text

    def _named(self, text: str) -> str:
        """With names in place of values. Somebody's own `${NAME}` has its dollars doubled, and so have dollars before
        a name of ours: an odd number of them means a value."""
        pattern, names = _finder(tuple(self.names.items()))

        def written(found: "re.Match[str]") -> str:
            dollars, ours, theirs = found.groups()
            return f"{dollars * 2}${{{names[ours]}}}" if ours else f"{dollars * 2}{{{theirs}}}"

        return pattern.sub(written, text)

    def _shown(self, text: str) -> str:
        def value(found: "re.Match[str]") -> str:
            dollars, name = found.groups()
            half = "$" * (len(dollars) // 2)
            if len(dollars) % 2 == 0:
                return f"{half}{{{name}}}"
            return half + (self.names.get(name) or f"${{{name}}}")

        return _NAME.sub(value, text)


@cache
def _forms(value: str) -> tuple[str, ...]:
    """A value as it is, and as it stands where it is quoted, and quoted again; the longest first."""
    value = writable(value)
    once = orjson.dumps(value).decode()[1:-1]
    return tuple(dict.fromkeys((orjson.dumps(once).decode()[1:-1], once, value)))


@lru_cache(256)
def _finder(named: tuple[tuple[str, str], ...]) -> tuple["re.Pattern[str]", dict[str, str]]:
    """Finds values, the longest first, and what looks like a name of ours; and which name each value has."""
    names = {form: name for name, value in sorted(named) if len(value) >= MIN_EXACT for form in _forms(value)}
    values = "|".join(re.escape(form) for form in sorted(names, key=lambda form: (-len(form), form))) or "(?!)"
    return re.compile(rf"(\$*)(?:({values})|(?<=\$)\{{([A-Za-z_][A-Za-z0-9_]*)\}})"), names


_NAME = re.compile(r"(\$+)\{([A-Za-z_][A-Za-z0-9_]*)\}")


def worth_hiding(values: Mapping[str, str]) -> tuple[str, ...]:
    """Those of some secrets that can be looked for, the longest first: one may stand in another."""
    return tuple(sorted({value for value in values.values() if len(value) >= MIN_SECRET}, key=lambda v: (-len(v), v)))
