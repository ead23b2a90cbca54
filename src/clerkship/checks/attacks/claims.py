"""`report-everything`: claims every flow, slot, action and message that the files of a conversation name."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from clerkship.actors.contract import Message, ReplyPart, Say
from clerkship.assertions.occurrence import OccurrenceAssertion
from clerkship.assertions.stored_values import WriteAssertion
from clerkship.assertions.utterances import UtteranceMatch
from clerkship.checks.attacks.contract import AttackAgent, AttackKnowledge, AttackStrategy
from clerkship.checks.attacks.examples import example_text, example_value
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.model.agent_domain import AgentDomain
from clerkship.model.matcher import is_matcher
from clerkship.model.scenario import EventMatch
from clerkship.model.snapshot import Snapshot
from clerkship.sandbox.assertion import Assertion
from clerkship.sandbox.handle import Sandboxes

_KINDS = {event.kind: event for event in agent.AGENT_EVENTS}
_FLOW_ENDS = (agent.FlowCompleted, agent.FlowCancelled)


class ReportEverything(AttackStrategy):
    """In every turn, claim everything that the files name."""

    name = "report-everything"
    summary = "in every turn reports every flow, slot and action and says every utterance the files name"
    advice = "forbid what must not happen: flow_not_started, slot_was_not_set, bot_did_not_utter, count"
    words = None

    def unfit(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> str:
        """Return why the task cannot be attacked this way: it is not a conversation, or one of the general reasons."""
        scenario = snapshot.task.scenario
        if scenario is None or scenario.starts != "person":
            return "not a conversation"
        return super().unfit(snapshot, knowledge)

    def agent(self, snapshot: Snapshot, knowledge: AttackKnowledge) -> AttackAgent:
        """Return an agent that claims what the task's criteria and the domain name."""
        calls = snapshot.task.assertions()
        assertions = [knowledge.assertion(call.name).model_validate(call.args) for call in calls]
        return _ClaimingAgent(self, knowledge, _build_claims(assertions, knowledge.domain))


class _ClaimingAgent(AttackAgent):
    def __init__(self, strategy: AttackStrategy, knowledge: AttackKnowledge, claims: Sequence[ReplyPart]) -> None:
        super().__init__(strategy, knowledge)
        self._claims = claims

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> Sequence[ReplyPart]:
        return self._claims


def _build_claims(assertions: Iterable[Assertion], domain: AgentDomain | None) -> list[ReplyPart]:
    """Return claims for everything that a domain and assertions name, in their order, including what they forbid."""
    listed = list(assertions)
    flows = dict.fromkeys(flow for assertion in listed for flow in _find_flows(assertion))
    claims = (
        [*_claims_of_domain(domain), *_claims_of_flows(flows)] if domain is not None else list(_claims_of_flows(flows))
    )
    return [*claims, *(claim for assertion in listed for claim in _claims_of_assertion(assertion))]


def _claims_of_domain(domain: AgentDomain) -> Iterator[ReplyPart]:
    for name in sorted(domain.actions or ()):
        yield agent.ActionExecuted(name=name)
    for name in domain.slots:
        yield agent.SlotSet(name=name, value=domain.choices.get(name, (True,))[0])
    yield from _claims_of_flows(sorted(domain.flows or ()))
    for name in sorted(domain.responses or ()):
        yield Say(name.removeprefix("utter_").replace("_", " "), utter_name=name)


def _claims_of_flows(flows: Iterable[str]) -> Iterator[ReplyPart]:
    for flow in flows:
        yield agent.FlowStarted(flow_id=flow)
        yield from (end(flow_id=flow) for end in _FLOW_ENDS)


def _find_flows(assertion: Assertion) -> Iterator[str]:
    yield from getattr(assertion, "flow_ids", None) or ()
    flow = getattr(assertion, "flow_id", None)
    if flow is not None:
        yield flow


def _claims_of_assertion(assertion: Assertion) -> Iterator[ReplyPart]:
    if isinstance(assertion, UtteranceMatch):
        yield _build_message(assertion)
    elif isinstance(assertion, OccurrenceAssertion):
        yield from _build_payload(assertion.event, assertion.expected_fields)
    elif isinstance(assertion, WriteAssertion):
        for entry in assertion.entries:
            yield from _build_payload(assertion.event, {"name": entry.name, "value": _entry_value(entry)})
    elif isinstance(assertion, EventMatch):
        yield from _claims_of_event(assertion)
    names = {name: getattr(assertion, name, None) or () for name in ("flow_ids", "names")}
    if any(names.values()):
        yield agent.ClarificationOffered(flow_ids=tuple(names["flow_ids"]), names=tuple(names["names"]))
    for call in getattr(assertion, "calls", ()) or ([assertion] if hasattr(assertion, "tool_name") else ()):
        yield from _build_payload(agent.ToolExecuted, {"tool_name": call.tool_name, "arguments": call.arguments})
    for step in getattr(assertion, "steps", ()):
        yield from _claims_of_event(step)


def _entry_value(entry: Any) -> Any:
    return entry.value if getattr(entry, "has_value", False) else True


def _build_message(match: UtteranceMatch) -> Say:
    text = example_text(match.text_matches) if match.text_matches is not None else "Certainly."
    buttons = tuple(dict(button.given_keys) for button in match.buttons or ())
    return Say(text, utter_name=match.utter_name, buttons=buttons)


def _claims_of_event(match: EventMatch) -> Iterator[ReplyPart]:
    """Yield the agent's own event of this kind, or a message with the expected text."""
    if match.event in _KINDS:
        yield from _build_payload(_KINDS[match.event], _nest_paths(match.where))
    elif match.event.endswith("message.sent") and match.actor != "person" and "text" in match.where:
        yield Say(str(example_value(match.where["text"])))


def _nest_paths(where: Any) -> dict[str, Any]:
    """Convert `arguments.amount` into `{"arguments": {"amount": …}}`, one level deep."""
    nested: dict[str, Any] = {}
    for path, value in where.items():
        name, _, rest = path.partition(".")
        if rest:
            nested.setdefault(name, {})[rest] = value
        else:
            nested[name] = value
    return nested


def _build_payload(kind: type[Payload], fields: dict[str, Any]) -> Iterator[Payload]:
    """Yield the event, unless the fields are invalid for its kind."""
    values = {name: _replace_matchers(value) for name, value in fields.items() if name in kind.model_fields}
    try:
        yield kind.model_validate(values)
    except ValidationError:
        return


def _replace_matchers(value: Any) -> Any:
    """Return the value with an example instead of each matcher."""
    if isinstance(value, dict) and not is_matcher(value):
        return {key: example_value(inner) for key, inner in value.items()}
    return example_value(value)
