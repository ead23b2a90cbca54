"""The catalog in which the library and `build` look up everything that files may name, and what passes on inaction."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache, cached_property

from pydantic import ValidationError

from clerkship.assertions.evaluation import evaluate
from clerkship.engine.plugin_loading import NO_PLUGINS
from clerkship.engine.registration import Registrations
from clerkship.events.agent import AgentEvents, SlotSet
from clerkship.events.event import Event, Payload, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import LIFECYCLE_EVENTS, AgentAnswered, AgentStarted
from clerkship.kit.registry import UnknownName
from clerkship.model.call import ANY_OF, AssertionCall, nested_calls
from clerkship.model.environment import CONVERSATION_KIND
from clerkship.model.scenario import Scenario
from clerkship.model.task import Task
from clerkship.monitors.registry import MONITORS
from clerkship.sandbox.assertion import Assertion
from clerkship.sandbox.component import ComponentSpec, DomainSpec
from clerkship.sandbox.faults.contract import ON_TURN
from clerkship.sandbox.monitor import Monitor
from clerkship.sandbox.steps.contract import Step
from clerkship.settings import get_template_variables
from clerkship.simulators.spec import Spec
from clerkship.suite_files.dataset_type import DatasetType
from clerkship.suite_files.template import Filter

_WORDS = ("ok", "zxqv")
"""What the agent says in turn. What passes with either does not depend on the words."""
_TIME = datetime(2026, 1, 1, tzinfo=UTC)
SentPayload = tuple[str, str, Payload]
"""The payload of an event, after its source and its actor."""


class InactionChecks(Registrations):
    """Answers what registered assertions need of an agent."""

    def passes_on_inaction(self, call: AssertionCall) -> bool:
        """Return whether an assertion can pass if the agent does nothing. False if it is invalid or asks a model."""
        assertion = self._parse_call(call)
        return assertion is not None and _passes_on_inaction(assertion)

    def passes_on_any_word(self, call: AssertionCall, task: Task) -> bool:
        """Return whether an assertion of a task can pass if the agent only says "ok". False if it is invalid or asks a
        model.
        """
        if call.name == ANY_OF:
            return any(self.passes_on_any_word(nested, task) for _, nested in nested_calls(call.args))
        assertion = self._parse_call(call)
        return assertion is not None and _passes_on_any_word(assertion, task, self._find_chat_message)

    def is_single_turn(self, name: str) -> bool:
        """Return whether an assertion assesses a single turn; False if the name is unknown."""
        return name in self.assertions and self.assertions.get(name).single_turn

    def _parse_call(self, call: AssertionCall) -> Assertion | None:
        try:
            return self.assertions.get(call.name).model_validate(call.args)
        except (UnknownName, ValidationError):
            return None

    def _find_chat_message(self) -> type[Utterance]:
        """Return the event of a message in a chat."""
        return next(event for event in self.simulators.get(CONVERSATION_KIND).events if issubclass(event, Utterance))


def _passes_on_inaction(assertion: Assertion) -> bool:
    """Return whether an assertion can pass if the agent does nothing: its class declares so, or it passes on an empty
    log. False if it asks a model.
    """
    if assertion.asks_model:
        return False
    return assertion.passes_on_inaction or evaluate(assertion, _empty_evidence()).check.passed


def _passes_on_any_word(assertion: Assertion, task: Task, find_message: Callable[[], type[Utterance]]) -> bool:
    """Return whether an assertion can pass if the agent only says a word, whatever it is. False if it asks a model.

    The word is the reply to a message of a person if they start the task, and the answer otherwise. `find_message`
    returns the event of a message; it is called only if there is one.
    """
    if assertion.asks_model:
        return False
    return assertion.passes_on_inaction or all(
        evaluate(assertion, _build_evidence(task, word, find_message)).check.passed for word in _WORDS
    )


@cache
def _empty_evidence() -> Evidence:
    return Evidence(Task(name="inaction"), (), {}, "agent_done")


def _build_evidence(task: Task, word: str, find_message: Callable[[], type[Utterance]]) -> Evidence:
    """Return the evidence of a run in which the agent only said a word."""
    scenario = task.scenario
    if scenario is None or scenario.starts == "agent":
        return Evidence(task, _list_events(_answer(word)), {}, "agent_done", answer=word, answered=True)
    sandbox = next((person.sandbox for person in scenario.all_people if person.sandbox), CONVERSATION_KIND)
    events = _list_events(_converse(scenario, sandbox, word, find_message()))
    return Evidence(task, events, {sandbox: None}, "agent_done")


def _list_events(payloads: Iterable[SentPayload]) -> list[Event]:
    return [
        Event(seq, _TIME, source, payload.kind, actor, None, payload)
        for seq, (source, actor, payload) in enumerate(payloads, 1)
    ]


def _answer(word: str) -> Iterator[SentPayload]:
    yield "run", "system", AgentStarted(entry="on_task")
    yield "run", "agent", AgentAnswered(answer=word)


def _converse(scenario: Scenario, sandbox: str, word: str, message: type[Utterance]) -> Iterator[SentPayload]:
    """Yield the events of a conversation with one turn for each line of the script."""
    for name, value in scenario.initial_slots.items():
        yield "agent", "scenario", SlotSet(name=name, value=value)
    yield "run", "system", AgentStarted(entry="on_turn")
    lines = max((len(person.lines) + (person.opening is not None) for person in scenario.all_people), default=1)
    for turn in range(1, max(lines, 1) + 1):
        yield sandbox, "person", message(text="Hello.", turn=turn)
        yield sandbox, "agent", message(text=word, turn=turn)


class RegisteredCatalog(InactionChecks):
    """Implements the library's Catalog with everything that is registered in this process."""

    def simulator(self, kind: str) -> Spec:
        return self.simulators.get(kind)

    def domain(self, kind: str) -> DomainSpec:
        return self.domains.get(kind)

    def component(self, kind: str) -> ComponentSpec:
        """Return the spec of a kind of simulator or domain."""
        return self.domains.get(kind) if kind in self.domains else self.simulators.get(kind)

    def components(self) -> Iterator[ComponentSpec]:
        """Yield the specs of all kinds of simulators and domains."""
        yield from (spec for _, spec in self.simulators.items())
        yield from (spec for _, spec in self.domains.items())

    def assertion(self, name: str) -> type[Assertion]:
        """Return the class of an assertion."""
        return self.assertions.get(name)

    def monitor(self, name: str) -> type[Monitor]:
        """Return the class of a monitor."""
        return self.monitors.get(name)

    def find_monitors(self, kinds: Collection[str], named: Collection[str]) -> Iterator[type[Monitor]]:
        """Yield the monitors that look at one of these kinds of simulator, by name; those that ask a model only if they
        are among the named ones. The others are not imported.
        """
        for name in self.monitors:
            entry = MONITORS.get(name) or self.monitors.get(name)
            if entry.judged and name not in named:
                continue
            needed = entry.kinds
            if needed.intersection(kinds) if needed else any(kind != CONVERSATION_KIND for kind in kinds):
                yield self.monitors.get(name)

    def step(self, name: str) -> type[Step]:
        """Return the class of a scenario step."""
        return self.steps.get(name)

    def acts_on(self, sort: str, name: str) -> str | None:
        """Return the kind of sandbox or domain that a step or an assertion needs, or None."""
        return self.steps.get(name).simulator if sort == "step" else self.assertions.get(name).simulator

    def explain_unscoped(self, call: AssertionCall, record_type: str | None) -> str:
        """Return why a record of a type cannot limit what an assertion checks.

        Empty if it can, and if the assertion is unknown, which is reported anyway.
        """
        model = self.assertions.get(call.name) if call.name in self.assertions else None
        if model is None:
            return ""
        try:
            return model.model_validate(call.args).explain_unscoped(record_type)
        except ValidationError:  # reported anyway
            return "" if model.scoped else model.model_construct().explain_unscoped(record_type)

    def entity_fields(self, name: str) -> Collection[str]:
        """Return the fields of an assertion that name entities of the task."""
        return self.assertions.get(name).entity_fields

    def reads(self, name: str) -> frozenset[str]:
        """Return the kinds of reported events that an assertion looks for; none if the name is unknown."""
        return self.assertions.get(name).reads() if name in self.assertions else frozenset()

    def event_kinds(self, kind: str) -> Collection[str]:
        """Return the kinds of event that a kind of simulator or domain may emit."""
        return [event.kind for event in self.component(kind).events]

    def operations(self, kind: str) -> Collection[str]:
        """Return the operations of a kind of simulator, which faults may name."""
        spec = self.simulators.get(kind)
        return [
            *dict.fromkeys(operation.name for operation in spec.operations),
            *([ON_TURN] if spec.converses or spec.channels else []),
        ]

    def reactions(self, source: str, target: str) -> Collection[str]:
        """Return the events of one kind of simulator that another kind reacts to."""
        return self.reaction_pairs.between(source, target)

    def reacts_to(self, target: str) -> Collection[str]:
        """Return all events, of any kind of simulator, that one kind reacts to."""
        return self.reaction_pairs.events_for(target)

    @cached_property
    def events(self) -> dict[str, type[Payload]]:
        """Every kind of event, with the class of its payload."""
        component_events = [event for spec in self.components() for event in spec.events]
        return {event.kind: event for event in (*LIFECYCLE_EVENTS, *self.agent_events.values(), *component_events)}

    @cached_property
    def agent_events(self) -> AgentEvents:
        """The events that an agent may report, by kind, including those of plug-ins."""
        return dict(self.agent_event_kinds.items())

    @cached_property
    def _payloads(self) -> dict[str, Mapping[str, type[Payload]]]:
        return {}

    def variables(self) -> Mapping[str, str]:
        """Return the environment variables that `${NAME}` in a file may refer to."""
        return get_template_variables()

    def payloads(self, name: str) -> Mapping[str, type[Payload]]:
        """Return the kinds of event that match a name or a pattern with `*`, with their payloads."""
        if name not in self._payloads:
            kinds = [kind for kind in (*self.simulators, *self.domains) if _may_match(name, kind)]
            # Only the kinds whose events can match are imported.
            component_events = [event for kind in kinds for event in self.component(kind).events]
            candidates = (*LIFECYCLE_EVENTS, *self.agent_events.values(), *component_events)
            matching = [event for event in candidates if _matches(name, event.kind)]
            self._payloads[name] = {event.kind: event for event in matching}
        return self._payloads[name]

    def event_names(self) -> Collection[str]:
        """Return every kind of event. This imports all simulators."""
        return self.events.keys()

    def dataset_type(self, name: str) -> DatasetType:
        return self.dataset_types.get(name)

    def built_in_datasets(self) -> Mapping[str, str]:
        """Return the datasets that need no file, each with its type."""
        return self._built_in

    def filter(self, name: str) -> Filter:
        """Return a template filter."""
        return self.filters.get(name)


def _matches(name: str, event: str) -> bool:
    return event == name or ("*" in name and fnmatchcase(event, name))


def _may_match(name: str, kind: str) -> bool:
    """Return whether a name or pattern can match events of a kind, whose names start with the kind."""
    head, start = name.partition("*")[0], f"{kind}."
    return head.startswith(start) or ("*" in name and start.startswith(head))


def build_catalog_without_plugins() -> RegisteredCatalog:
    """Build a catalog without plug-ins, from which the reference documentation is generated."""
    return RegisteredCatalog(plugins=NO_PLUGINS)
