"""Reading a resource as it is, and as it was (R4 http: read, vread)."""

from clerkship.fhir.issue import Invalid
from clerkship.fhir.resource import parse, render
from clerkship.fhir.search import parse_query, shown
from clerkship.simulators.fhir.draft import Draft
from clerkship.simulators.fhir.events import ResourceRead
from clerkship.simulators.fhir.outcome import refusal, refused
from clerkship.simulators.fhir.versions import Version, moment_of
from clerkship.simulators.fhir.wire import GENERAL, Answer, Ask, if_none_match, modified_since
from clerkship.simulators.fhir.writing import existing, known_type

PARTS = frozenset({"_summary", "_elements"})
SHOWN = GENERAL | PARTS
"""What a read can be told about the form of its answer."""


def read(ask: Ask) -> Answer:
    """One as it is."""
    version = existing(ask.draft, ask.key)
    if ask.pairs:
        only(ask, SHOWN)
    status = 304 if _has_it(ask, version) else 200
    return _shown(ask, version, "read", status)


def vread(ask: Ask) -> Answer:
    """One as it was in a version, even if it is gone by now."""
    known_type(ask.params["type"])
    only(ask, SHOWN)
    wanted = ask.params["version"]
    found = find_version(ask.draft, ask.key, wanted)
    if found is None:
        raise refusal(404, "not-found", f"there is no version {wanted[:80]} of {ask.key[:140]}")
    if found.gone:
        raise refusal(410, "deleted", f"version {wanted} of {ask.key} is that it was deleted")
    return _shown(ask, found, "vread", 200)


def find_version(draft: Draft, key: str, id: str) -> Version | None:
    """A version of a resource by its id."""
    return next((version for version in draft.versions(key) if version.id == id), None)


def _shown(ask: Ask, version: Version, operation: str, status: int) -> Answer:
    type, id = ask.params["type"], ask.params["id"]
    data = (version.data or b"") if status == 200 else b""
    if data and ask.pairs:
        data = _in_part(ask, type, data)
    ask.draft.note(ResourceRead(type=type, id=id, version=version.id, operation=operation, status=status))
    return Answer(status, data, version)


def _in_part(ask: Ask, type: str, data: bytes) -> bytes:
    """As much of it as is asked for (R4 http: read, summary and elements)."""
    asked = [pair for pair in ask.pairs if pair[0] in PARTS]
    if not asked:
        return data
    try:
        return render(shown(parse(data), parse_query(type, asked)))
    except Invalid as wrong:
        raise refused(wrong) from None


def _has_it(ask: Ask, version: Version) -> bool:
    """Whether the client has this version already (R4 http: conditional read)."""
    tags = if_none_match(ask.headers)
    if tags is not None:
        return "*" in tags or version.id in tags
    since = modified_since(ask.headers)
    changed = moment_of(version.updated)
    return since is not None and changed is not None and changed.replace(microsecond=0) <= since


def only(ask: Ask, known: frozenset[str]) -> None:
    """No parameters but these, or Prefer: handling=lenient."""
    if ask.strict:
        for name, _ in ask.pairs:
            if name not in known:
                raise refusal(
                    400, "not-supported", f"`{name[:80]}` is not a parameter here; {', '.join(sorted(known))}"
                )
