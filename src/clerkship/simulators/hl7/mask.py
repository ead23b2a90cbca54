"""Hide the secret address of a sandbox in messages of an agent."""

import re


class FacilityMask:
    """Replaces the secret receiving facility by the configured one, and restores it in the answer."""

    def __init__(self, alias: str, facility: str) -> None:
        self.facility = facility
        self._alias = alias
        self._used_alias = ""

    def hide(self, text: str) -> str:
        """Return the text without the secret address."""
        count = text.casefold().count(self._alias.casefold()) if self._alias else 0
        if count == 0:
            return text
        if text.count(self._alias) == count:
            self._used_alias = self._alias
            return text.replace(self._alias, self.facility)
        alias = re.compile(re.escape(self._alias), re.IGNORECASE)
        match = alias.search(text)
        self._used_alias = match[0] if match is not None else ""
        return alias.sub(self.facility, text)

    def show(self, text: str) -> str:
        """Restore the secret address as the sender in the headers of an answer, spelled as the agent wrote it."""
        return "\r".join(map(self._show_segment, text.split("\r"))) if self._used_alias else text

    def _show_segment(self, line: str) -> str:
        if line[:3] not in ("MSH", "BHS", "FHS"):
            return line
        fields = line.split(line[3])
        if fields[3] == self.facility:  # index 3 is field 4, because field 1 is the delimiter itself
            fields[3] = self._used_alias
        return line[3].join(fields)
