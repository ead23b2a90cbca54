"""Redaction of cassettes: names for values that differ between machines, labels for credentials."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from clerkship.kit.text import replace_surrogates
from clerkship.model.redaction import MIN_EXACT_LENGTH, NO_REDACTION, Redactor, map_texts

_RUN_SPECIFIC = (
    ("clk_", re.compile(r"clk_(?:sbx|ses|oat)_[A-Za-z0-9_-]{43}"), "[token]"),
    ("/pg-", re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\]):\d+/pg-[0-9a-f]{16}"), "[address]/[playground]"),
    ("pg-", re.compile(r"\bpg-[0-9a-f]{16}\b"), "[playground]"),
    ("earer", re.compile(r"(?i)\b(bearer)\s+[A-Za-z0-9._~+/-]{16,}=*"), r"\1 [token]"),
    ("asic ", re.compile(r"(?i)\b(basic)\s+[A-Za-z0-9+/]{16,}=*"), r"\1 [token]"),
)
"""What differs in every run, and credentials of any issuer: a text that is searched for first, because that is fast,
the pattern, and what replaces it."""
_REFERENCE = re.compile(r"(\$+)\{([A-Za-z_][A-Za-z0-9_]*)\}")


class CassetteRedactor(NamedTuple):
    """Redacts what is recorded, and restores this machine's values in what is replayed."""

    names: Mapping[str, str] = {}
    """The values of variables, by name. Each is written as `${NAME}`, and put back."""
    secrets: Redactor = NO_REDACTION
    """Replaces values that are not put back."""

    def with_names(self, names: Mapping[str, str]) -> "CassetteRedactor":
        """Return a redactor that knows more variables."""
        return self._replace(names={**self.names, **names}) if names else self

    def hide(self, data: Any) -> Any:
        """Redact every text in plain data."""
        return map_texts(data, self._hidden)

    def show(self, data: Any) -> Any:
        """Restore the values of variables; labels of credentials stay."""
        return map_texts(data, self._shown) if self.names else data

    def _hidden(self, text: str) -> str:
        text = self.secrets.text(self._named(replace_surrogates(text)))
        for sign, pattern, instead in _RUN_SPECIFIC:
            if sign in text:
                text = pattern.sub(instead, text)
        return text

    def _named(self, text: str) -> str:
        """Replace values by names.

        The dollars of a text that itself looks like `${NAME}` are doubled, and so are those before a name: an odd
        number of dollars means a value.
        """
        if not self.names:
            return text
        pattern, names = _value_pattern(tuple(self.names.items()))

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

        return _REFERENCE.sub(value, text) if "${" in text else text


@lru_cache(256)
def _value_pattern(named: tuple[tuple[str, str], ...]) -> tuple["re.Pattern[str]", dict[str, str]]:
    """Return a pattern for values, the longest first, and for texts that look like names; and the name of each value.

    A value is found as it is, as quoted in JSON, and as quoted twice.
    """
    names = {
        form: name for name, value in sorted(named) if len(value) >= MIN_EXACT_LENGTH for form in _quoted_forms(value)
    }
    values = "|".join(re.escape(form) for form in sorted(names, key=lambda form: (-len(form), form))) or "(?!)"
    return re.compile(rf"(\$*)(?:({values})|(?<=\$)\{{([A-Za-z_][A-Za-z0-9_]*)\}})"), names


def _quoted_forms(value: str) -> tuple[str, ...]:
    value = replace_surrogates(value)
    once = orjson.dumps(value).decode()[1:-1]
    return orjson.dumps(once).decode()[1:-1], once, value
