"""What may not stand in a cassette, and what stands there instead: names for what differs between machines, marks for
what opens something."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from clerkship.model.variables import SHORTEST

LEAST_SECRET = 8
"""Characters of a secret that is looked for: shorter ones stand in too much that has nothing to do with them."""
_MADE_ANEW = (
    ("clk_sbx_", re.compile(r"clk_sbx_[A-Za-z0-9_-]{43}"), "[token]"),
    ("/pg-", re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\]):\d+/pg-[0-9a-f]{16}"), "[address]/[playground]"),
    ("pg-", re.compile(r"\bpg-[0-9a-f]{16}\b"), "[playground]"),
    ("earer", re.compile(r"(?i)\b(bearer)\s+[A-Za-z0-9._~+/-]{16,}=*"), r"\1 [token]"),
    ("asic ", re.compile(r"(?i)\b(basic)\s+[A-Za-z0-9+/]{16,}=*"), r"\1 [token]"),
)
"""What each run makes for itself, or what nobody should say aloud: a sign of it, which is looked for first, its form,
and what stands there instead."""


class Veil(NamedTuple):
    """Values that are not written down: those of some names, and those that are nobody's business."""

    names: Mapping[str, str] = {}
    """What stands for `${NAME}`, by name."""
    secrets: tuple[str, ...] = ()

    def over(self, names: Mapping[str, str]) -> "Veil":
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
        for name in self.names:
            if f"${{{name}}}" in text:  # somebody's own words: told apart from what we put there
                text = text.replace(f"${{{name}}}", f"$${{{name}}}")
        for name, value in sorted(self.names.items(), key=lambda pair: (-len(pair[1]), pair[0])):
            if len(value) >= SHORTEST and value in text:
                text = text.replace(value, f"${{{name}}}")
        for secret in self.secrets:
            if secret in text:
                text = text.replace(secret, "[secret]")
        for sign, pattern, instead in _MADE_ANEW:
            if sign in text:
                text = pattern.sub(instead, text)
        return text

    def _shown(self, text: str) -> str:
        def value(found: "re.Match[str]") -> str:
            escaped, name = found.groups()
            if name not in self.names:
                return found[0]
            return found[0][1:] if escaped else self.names[name]

        return _NAME.sub(value, text)


_NAME = re.compile(r"\$(\$?)\{([A-Za-z_][A-Za-z0-9_]*)\}")


def worth_hiding(values: Mapping[str, str]) -> tuple[str, ...]:
    """Those of some secrets that can be looked for, the longest first: one may stand in another."""
    return tuple(sorted({value for value in values.values() if len(value) >= LEAST_SECRET}, key=lambda v: (-len(v), v)))
