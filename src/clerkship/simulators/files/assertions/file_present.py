"""`file_present`: the right file is there at the end, with the right content."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import Field

from clerkship.assertions.contract import Assertion, Check, FieldMatch, compared
from clerkship.assertions.occurrence import HowMany
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe, holds
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.simulators.files.state import FilesState


class FilePresent(Assertion):
    """A file at the path (`*` allowed) whose text and JSON fields are as expected; or, with `absent`, none."""

    name: ClassVar[str] = "file_present"
    simulator: ClassVar[str | None] = "files"
    shorthand: ClassVar[str | None] = "path"
    path: Annotated[str, Field(min_length=1, description="path in the drop, `*` allowed")]
    sandbox: Annotated[str | None, Field(description="which drop; the only one if not given")] = None
    text: Annotated[Expected | None, Field(description="what its text must be: literal or matcher")] = None
    fields: Annotated[tuple[FieldMatch, ...], Field(description="what its JSON must hold")] = ()
    count: Annotated[HowMany | None, Field(description="how many files must match")] = None
    absent: Annotated[Flag, Field(description="no such file may be there")] = False

    def check(self, evidence: Evidence) -> Check:
        """Compare every file at the path; the best one decides."""
        state = evidence.state(FilesState, self.sandbox)
        found = {path: state.records[path] for path in state.paths() if fnmatchcase(path, self.path)}
        if self.text is None and not self.fields:
            return self._by_number(found, state)
        looked_at = {path: tuple(self._compare(data)) for path, data in found.items()}
        good = [path for path, checks in looked_at.items() if all(check.passed for check in checks)]
        if self.absent or self.count is not None:
            return self._by_number({path: found[path] for path in good}, state)
        if not looked_at:
            return self._by_number({}, state)
        best = max(looked_at, key=lambda path: sum(check.passed for check in looked_at[path]))
        unread = " (it is not JSON)" if self.fields and _parse_json(found[best]) is MISSING else ""
        detail = f"{best} is as expected" if good else f"{best} is there, but not as expected{unread}"
        return Check.of_fields(looked_at[best], detail)

    def _by_number(self, found: dict[str, bytes], state: FilesState) -> Check:
        expected = 0 if self.absent else self.count if self.count is not None else {"gte": 1}
        passed = holds(expected, len(found))
        names = _listed(found) if found else "none; there is " + (_listed(state.paths()) or "no file at all")
        field = FieldCheck(path=self.path, expected=expected, actual=len(found), passed=passed)
        return Check.of(passed, f"files that fit {self.path}: {names} (expected {describe(expected)})", field)

    def _compare(self, data: bytes) -> Iterator[FieldCheck]:
        if self.text is not None:
            yield compared("text", self.text, data.decode(errors="replace"))
        content = _parse_json(data) if self.fields else None
        yield from (field.compare(content) for field in self.fields)


def _listed(paths: Iterable[str]) -> str:
    """The first few, and how many more."""
    names = list(paths)
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _parse_json(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return MISSING
