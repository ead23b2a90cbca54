"""`portal_action`: what the agent did on the payer portal, how often, and in which order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field, model_validator

from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.assertions.selection import Compared, SelectionAssertion, build_time_row
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.events.query import describe_match, field_check, find_first
from clerkship.model.closed import describe_unknown, find_unknown_value, list_literals
from clerkship.model.frozen import Frozen
from clerkship.model.located_error import FieldPath, build_located_error
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.names import did_you_mean
from clerkship.model.path import lookup, split_path
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch, Expected
from clerkship.sandbox.assertion import compare_value
from clerkship.simulators.portal import events as happened
from clerkship.simulators.portal.document_events import DocumentRemoved, DocumentUploaded
from clerkship.simulators.portal.record_owners import RecordOwners, list_event_records
from clerkship.simulators.portal.views import SignInView, View

PortalActionName = Literal[
    "signed_in",
    "signed_out",
    "entered_code",
    "changed_password",
    "attempted_human_check",
    "viewed",
    "searched",
    "saved_draft",
    "deleted_draft",
    "uploaded",
    "removed_document",
    "submitted",
    "submitted_not_needed",
    "refused",
    "replied",
    "changed",
    "withdrew",
    "appealed",
    "opened_letter",
    "downloaded",
]
_EVENTS: Mapping[str, type[Payload]] = dict(
    zip(
        get_args(PortalActionName),
        (
            happened.SignedIn,
            happened.PortalSessionEnded,
            happened.CodeEntered,
            happened.PasswordChanged,
            happened.HumanCheckFailed,
            happened.PageViewed,
            happened.Searched,
            happened.DraftSaved,
            happened.DraftDeleted,
            DocumentUploaded,
            DocumentRemoved,
            happened.RequestFiled,
            happened.RequestNotNeeded,
            happened.SubmitRefused,
            happened.RequestReplied,
            happened.RequestChanged,
            happened.RequestWithdrawn,
            happened.AppealSubmitted,
            happened.LetterOpened,
            happened.Downloaded,
        ),
        strict=True,
    )
)
_WITH_PAGE = ("viewed", "refused")


class PortalActionMatch(Frozen):
    """Something that the agent did on the payer portal."""

    action: Annotated[PortalActionName, Field(description="what was done; `refused` is a form that was not accepted")]
    page: Annotated[
        Expected | None,
        Field(description="page that was viewed, or whose form was refused, such as request; or a matcher"),
    ] = None
    record: Annotated[
        Expected | None,
        Field(description="record that it is about, such as request/R123456789, or only its number; or a matcher"),
    ] = None
    button: Annotated[Expected | None, Field(description="button of a form that was refused, such as submit")] = None
    where: Annotated[
        dict[str, Expected],
        Field(description="path in the event -> value or matcher, such as {shown.status: approved}"),
    ] = {}

    @model_validator(mode="after")
    def _check_conditions(self) -> Self:
        mistakes = list(self._find_mistakes())
        if mistakes:
            raise build_located_error(mistakes)
        return self

    def _find_mistakes(self) -> Iterator[tuple[FieldPath, str]]:
        event = _EVENTS[self.action]
        if self.page is not None and self.action not in _WITH_PAGE:
            yield ("page",), f"`page` goes with {' and '.join(_WITH_PAGE)}, not with {self.action}"
        elif self.page is not None and self.action == "viewed":
            pages = [view.page for view in View.__subclasses__() if view is not SignInView]  # which is not logged
            unknown = [each for each in list_literals(self.page) if each not in pages]
            if unknown:
                yield ("page",), describe_unknown(unknown[0], pages)
        if self.button is not None and self.action != "refused":
            yield ("button",), f"`button` goes with refused, not with {self.action}"
        known = [name for name in event.model_fields if name != "html"]
        for path, expected in self.where.items():
            first = (split_path(path) or [path])[0]
            if first not in known:
                yield ("where", path), f"{event.kind} has no `{first}`; {did_you_mean(first, known)}".removesuffix("; ")
            elif unknown_value := find_unknown_value(event, path, expected):
                yield ("where", path), unknown_value

    def is_action(self, event: Event) -> bool:
        """Return whether an event is the action, whatever its page, record and values."""
        if event.kind != _EVENTS[self.action].kind:
            return False
        return self.action != "signed_out" or getattr(event.payload, "reason", "") == "signed_out"

    def compare_event(self, event: Event) -> Iterator[FieldCheck]:
        """Yield a row for the action itself, and for each condition."""
        payload, seq = event.payload, event.seq
        yield FieldCheck(path="action", expected=self.action, actual=self.action, passed=True, seq=seq)
        if self.page is not None:
            yield compare_value("page", self.page, lookup(payload, "page"), seq)
        if self.record is not None:
            records = list_event_records(event)
            names = [name for record in records for name in (record, record.partition("/")[2])]
            passed = any(matches_expected(self.record, name) for name in names)
            yield field_check("record", self.record, list(records), passed=passed, seq=seq)
        if self.button is not None:
            yield compare_value("button", self.button, lookup(payload, "action"), seq)
        for path, expected in self.where.items():
            yield compare_value(path, expected, lookup(payload, path), seq)

    def describe(self) -> str:
        """Return it in words: `viewed with page 'request'`."""
        names = [name for name in ("page", "record", "button") if getattr(self, name) is not None]
        conditions = [f"{name} {describe_expected(getattr(self, name))}" for name in names]
        conditions += [f"{path} {describe_expected(expected)}" for path, expected in self.where.items()]
        return self.action + (f" with {', '.join(conditions)}" if conditions else "")


class PortalActionDone(SelectionAssertion, PortalActionMatch):
    """The agent did this on the payer portal; or, with `count` or `none`, as often as expected. It counts what was done
    on pages and over the REST API. `input_entity_id` selects what is about the patient of that record.
    """

    name: ClassVar[str] = "portal_action"
    simulator: ClassVar[str | None] = "portal"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "action"
    before: Annotated[
        PortalActionMatch | EventMatch | None, Field(description="only before the first such action or event")
    ] = None
    after: Annotated[
        PortalActionMatch | EventMatch | None,
        Field(description="only after the first such action or event; it must happen"),
    ] = None
    sandbox: Annotated[str | None, Field(description="which payer portal; any if not given")] = None

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each action of this sort."""
        before, after = (self._find_limit(evidence, limit) for limit in (self.before, self.after))
        events = [event for event in self._list_events(evidence) if self.is_action(event)]
        for event in narrow(evidence, events, _build_reader(evidence), forbids=self.passes_on_inaction):
            rows = list(self.compare_event(event))
            if self.before is not None:
                passed = before is None or event.seq < before.seq
                rows.append(build_time_row("before", f"before {_describe(self.before)}", before, event, passed=passed))
            if self.after is not None:
                passed = after is not None and event.seq > after.seq
                rows.append(build_time_row("after", f"after {_describe(self.after)}", after, event, passed=passed))
            yield Compared(f"{self.action} (#{event.seq})", tuple(rows))

    def _list_events(self, evidence: Evidence) -> list[Event]:
        kinds = {each.kind for each in _EVENTS.values()}
        events = (event for event in evidence.of_kind(*sorted(kinds)) if self.sandbox in (None, event.source))
        return [event for event in events if evidence.find_originator(event) == "agent"]

    def _find_limit(self, evidence: Evidence, limit: PortalActionMatch | EventMatch | None) -> Event | None:
        if not isinstance(limit, PortalActionMatch):
            return find_first(evidence.events, limit)
        events = (event for event in self._list_events(evidence) if limit.is_action(event))
        return next((event for event in events if all(row.passed for row in limit.compare_event(event))), None)

    def describe_selection(self, evidence: Evidence) -> str:
        """Return the action and its conditions."""
        limits = [f"{name} {_describe(getattr(self, name))}" for name in ("before", "after") if getattr(self, name)]
        return " ".join([f"action {self.describe()} on the payer portal", *limits])

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield what was done instead, if the action was not done at all."""
        if not compared:
            names = {payload.kind: name for name, payload in _EVENTS.items()}
            done = [names[event.kind] for event in self._list_events(evidence)]
            counted = [f"{name} {done.count(name)}x" for name in dict.fromkeys(done)]
            yield f"the agent's actions there: {', '.join(counted) or 'none'}"


def _describe(limit: PortalActionMatch | EventMatch) -> str:
    return limit.describe() if isinstance(limit, PortalActionMatch) else describe_match(limit)


def _build_reader(evidence: Evidence) -> Any:
    """Return the function that tells whom an event is about: the patients of its records, and what it says."""
    owners = evidence.cached(RecordOwners)

    def read(event: Event) -> ItemContent:
        payload = event.payload.model_dump(mode="json", exclude={"html", "data"})
        return ItemContent(data={"patients": owners.list_patients(list_event_records(event)), "said": payload})

    return read
