"""Batches and transactions (R4 http: batch/transaction): entries one by one, or all of them or none."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from clerkship.fhir.issue import Issue, outcome
from clerkship.fhir.resource import render
from clerkship.sandbox.exchange import Refusal
from clerkship.simulators.fhir import interactions, splice, writing
from clerkship.simulators.fhir.conditional import meant, parse_condition
from clerkship.simulators.fhir.draft import Draft
from clerkship.simulators.fhir.elements import MAX_BUNDLE_ELEMENTS, MAX_RESOURCE_ELEMENTS, check_resource
from clerkship.simulators.fhir.entries import Entry, parse_bundle, parse_entry, within
from clerkship.simulators.fhir.events import BundleProcessed
from clerkship.simulators.fhir.outcome import issues_of, refusal
from clerkship.simulators.fhir.rewriting import Links, base_of, rewritten
from clerkship.simulators.fhir.wire import Answer, Ask, body_of, if_match, preferred_return

Find = Callable[[Entry], tuple[str, Mapping[str, str]]]
"""Which operation an entry is, and the parts of its path; raises a Refusal where it is none."""
Interact = Callable[[Ask], Answer]
_READS = frozenset({"GET", "HEAD"})


class Processor:
    """Does the entries of one Bundle."""

    def __init__(self, ask: Ask, find: Find, interact: Mapping[str, Interact]) -> None:
        self.draft = ask.draft
        self.shows = preferred_return(ask.headers, "minimal") == "representation"
        self.prefer = {"prefer": ask.headers["prefer"]} if "prefer" in ask.headers else {}
        self.find, self.interact = find, interact
        self._names: dict[str, str] = {}
        self._claimed: dict[str, Entry] = {}

    def ask(self, entry: Entry, draft: Draft) -> tuple[str, Ask]:
        """An entry as its operation, and what is asked of it."""
        operation, params = self.find(entry)
        if operation not in self.interact:
            raise refusal(400, "not-supported", f"{operation} cannot stand in a Bundle")
        headers = {**self.prefer, **entry.headers}
        return operation, Ask(draft, params, entry.pairs, headers, path=entry.path, given=entry.resource)

    # A batch: each entry on its own, whatever becomes of the others.

    def batch(self, entries: list[Any]) -> tuple[list[bytes], list[int]]:
        """Do each."""
        rendered, statuses = [], []
        for number, data in enumerate(entries):
            try:
                with Draft(self.draft.state, self.draft.act, self.draft.address) as draft:
                    entry = parse_entry(number, data, draft)
                    with within(draft, entry):
                        operation, ask = self.ask(entry, draft)
                        answer = self.interact[operation](ask)
                        draft.check()
                    done = self._rendered(answer, entry)
            except Refusal as refused:
                answer = Answer(refused.status)
                done = splice.done({"status": _status(refused.status)}, outcome=render(outcome(issues_of(refused))))
            rendered.append(done)
            statuses.append(answer.status)
        return rendered, statuses

    # A transaction: who is meant, then what is linked, then what is done.

    def transaction(self, entries: list[Any]) -> tuple[list[bytes], list[int]]:
        """Do all, or none: whatever is refused leaves the draft, and nobody keeps it."""
        parsed = [parse_entry(number, data, self.draft) for number, data in enumerate(entries)]
        asked = [(entry, *self._asked(entry)) for entry in parsed]
        answers: dict[int, Answer] = {}
        for entry, operation, ask in asked:
            if entry.method == "DELETE":
                answers[entry.number] = self._delete(entry, operation, ask)
        for entry, operation, ask in asked:
            if entry.method in ("POST", "PUT", "PATCH"):
                self._name(entry, operation, ask, answers)
        for entry, operation, ask in sorted(asked, key=lambda one: one[0].method != "POST"):
            if entry.method in ("POST", "PUT", "PATCH") and entry.number not in answers:
                answers[entry.number] = self._write(entry, operation, ask)
        self.draft.check()
        for entry, operation, ask in asked:
            if entry.method in _READS:
                with within(self.draft, entry):
                    answers[entry.number] = self.interact[operation](ask)
        done = [answers[entry.number] for entry in parsed]
        return [self._rendered(answers[entry.number], entry) for entry in parsed], [answer.status for answer in done]

    def _asked(self, entry: Entry) -> tuple[str, Ask]:
        with within(self.draft, entry):
            return self.ask(entry, self.draft)

    def _delete(self, entry: Entry, operation: str, ask: Ask) -> Answer:
        with within(self.draft, entry):
            if operation == "conditional_delete":
                entry.key = meant(self.draft, ask.params["type"], ask.pairs) or ""
            else:
                entry.key = ask.key
            self._claim(entry)
            return self.interact[operation](ask)

    def _claim(self, entry: Entry) -> None:
        """R4: a transaction in which two entries are about one resource fails."""
        other = self._claimed.setdefault(entry.key, entry) if entry.key else entry
        if other is not entry:
            raise refusal(400, "duplicate", f"{entry.key} is changed by entry {other.number} already")

    def _name(self, entry: Entry, operation: str, ask: Ask, answers: dict[int, Answer]) -> None:
        """Which resource an entry is about, and what others call it."""
        with within(self.draft, entry):
            if operation == "create":
                self._name_new(entry, ask, answers)
            elif operation in ("update", "conditional_update"):
                self._name_updated(entry, operation, ask)
            elif operation in ("patch", "conditional_patch"):
                entry.key = ask.key if operation == "patch" else interactions.target_of_patch(ask)
                self._claim(entry)
            if not entry.key:
                return
            if entry.full_url and self._names.setdefault(entry.full_url, entry.key) != entry.key:
                raise refusal(400, "duplicate", f"two entries have the fullUrl {entry.full_url[:200]}")

    def _name_new(self, entry: Entry, ask: Ask, answers: dict[int, Answer]) -> None:
        type = writing.known_type(ask.params["type"])
        condition = ask.headers.get("if-none-exist")
        found = meant(self.draft, type, parse_condition(condition)) if condition is not None else None
        if found is not None:
            entry.key, answers[entry.number] = found, interactions.already_there(ask, found)
            return
        entry.key = f"{type}/{self.draft.new_id(type)}"
        self._hold(entry)

    def _name_updated(self, entry: Entry, operation: str, ask: Ask) -> None:
        type = writing.known_type(ask.params["type"])
        found = ask.key if operation == "update" else interactions.target_of_update(ask, type, entry.resource)
        entry.key = found or f"{type}/{self.draft.new_id(type)}"
        if operation == "conditional_update" and isinstance(entry.resource, dict):
            entry.resource = {**entry.resource, "id": entry.key.partition("/")[2]}
        writing.usable_id(entry.key.partition("/")[2])
        self._claim(entry)
        self._hold(entry)

    def _hold(self, entry: Entry) -> None:
        """Conditions of later entries may mean what this one makes."""
        if isinstance(entry.resource, dict) and entry.resource.get("resourceType") == entry.key.partition("/")[0]:
            self.draft.hold(entry.key, {**entry.resource, "id": entry.key.partition("/")[2]})

    def _write(self, entry: Entry, operation: str, ask: Ask) -> Answer:
        with within(self.draft, entry):
            if not entry.key:  # an operation that changes nothing
                return self.interact[operation](ask)
            resource = rewritten(entry.resource, self._links(entry))
            if entry.method == "PATCH":
                writing.patch(self.draft, entry.key, resource, if_match=if_match(ask.headers))
                return interactions.patched(ask, entry.key)
            new = not self.draft.is_there(entry.key)
            interactions.refuse_if_there(ask, entry.key)
            if operation == "create":
                writing.create(self.draft, resource, ask.params["type"], entry.key.partition("/")[2])
            else:
                writing.update(self.draft, entry.key, resource, if_match=if_match(ask.headers))
            return interactions.written(ask, entry.key, new=new)

    def _links(self, entry: Entry) -> Links:
        """What references mean in an entry."""
        return Links(self._names, base_of(entry.full_url) or self.draft.base, self._resolve)

    def _resolve(self, reference: str) -> str:
        """R4 http, conditional references: a condition means one resource; a client's own name means an entry."""
        if reference.startswith("urn:"):
            if self.draft.settings.references == "checked":
                raise refusal(422, "not-found", f"no entry has the fullUrl {reference[:200]}")
            return reference
        type = reference.partition("?")[0]
        found = meant(self.draft, type, parse_condition(reference))
        if found is None:
            raise refusal(412, "not-found", f"no {type} matches the reference {reference[:200]}")
        return found

    def _rendered(self, answer: Answer, entry: Entry) -> bytes:
        fields = {"status": _status(answer.status)}
        version = answer.version or (self.draft.version(answer.key) if answer.key else None)
        if version is not None and answer.key:
            fields["location"] = f"{answer.key}/_history/{version.id}"
        if version is not None:
            fields["etag"] = version.etag
            if version.updated:
                fields["lastModified"] = version.updated
        data, full_url = answer.body if entry.method != "HEAD" else b"", ""
        if answer.key and version is not None:
            full_url = f"{self.draft.base}/{answer.key}"
            data = (version.data or b"") if self.shows else b""
        said = render(outcome([Issue("information", "informational", answer.told)])) if answer.told else b""
        return splice.done(fields, full_url, data, said)


def _status(status: int) -> str:
    return f"{status} {HTTPStatus(status).phrase}"


def process(ask: Ask, find: Find, interact: Mapping[str, Interact]) -> Answer:
    """Do a batch or a transaction."""
    type, entries = parse_bundle(body_of(ask, MAX_BUNDLE_ELEMENTS), ask.draft.settings.max_entries)
    if len(ask.body) > MAX_RESOURCE_ELEMENTS:  # an element takes a byte at least
        for number, entry in enumerate(entries):
            check_resource(entry, f"Bundle.entry[{number}]")
    processor = Processor(ask, find, interact)
    rendered, statuses = processor.batch(entries) if type == "batch" else processor.transaction(entries)
    ask.draft.note(BundleProcessed(type=type, entries=len(entries), statuses=tuple(statuses)))
    return Answer(200, splice.bundle(f"{type}-response", (), rendered))
