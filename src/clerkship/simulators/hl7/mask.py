"""Keeps the secret address of a sandbox out of what an agent writes."""

import re


class Mask:
    """Puts the sandbox's own facility where an agent writes its unguessable name, and takes it off the answer."""

    def __init__(self, alias: str, facility: str) -> None:
        self.facility = facility
        self._alias = alias
        self._written = ""

    def hide(self, text: str) -> str:
        """The text as it may be kept."""
        count = text.casefold().count(self._alias.casefold()) if self._alias else 0
        if count == 0:
            return text
        if text.count(self._alias) == count:
            self._written = self._alias
            return text.replace(self._alias, self.facility)
        alias = re.compile(re.escape(self._alias), re.IGNORECASE)
        found = alias.search(text)
        self._written = found[0] if found is not None else ""
        return alias.sub(self.facility, text)

    def show(self, text: str) -> str:
        """An answer's text, whose headers come from whom the agent wrote to, as it wrote them."""
        return "\r".join(map(self._shown, text.split("\r"))) if self._written else text

    def _shown(self, line: str) -> str:
        if line[:3] not in ("MSH", "BHS", "FHS"):
            return line
        fields = line.split(line[3])
        if fields[3] == self.facility:  # the fourth: the delimiter after its name is the first
            fields[3] = self._written
        return line[3].join(fields)
