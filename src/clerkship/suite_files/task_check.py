"""Check a task or a scenario file in the form in which it will run: criteria, steps, people and slots.

Each part is validated separately, so that a mistake in one part does not hide mistakes in the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clerkship.model.call import AssertionCall
from clerkship.model.environment import AXES, GATE_AXES
from clerkship.model.names import did_you_mean, find_similar_name
from clerkship.model.run import PASS_THRESHOLD
from clerkship.model.task import Criterion, Task
from clerkship.suite_files.call_check import CallCheck, TaskNames, WrittenPart, collect_task_names
from clerkship.suite_files.catalog import Catalog
from clerkship.suite_files.definition import Definition, as_list, as_map
from clerkship.suite_files.environment_check import is_known
from clerkship.suite_files.yaml import KeyPath

MAX_NAMED_CRITERIA = 5
WrittenEntities = Mapping[str, Any]
"""The types of a task's entities by their ids, as they are written."""
_CONVERSATION_KEYS = ("initial_slots", "stubs", "max_turns", "turn_timeout")
"""Keys of a scenario that only apply if the person starts."""


@dataclass
class AxisCheck:
    """Checks axes against those that the environments and benchmarks of a folder declare."""

    gating: frozenset[str]
    declared: frozenset[str]
    """All axes that are declared, in lower case, with those that gate."""
    warned: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, declarations: Iterable[Mapping[str, Any]]) -> "AxisCheck":
        """Return the check for the environments and benchmarks of a folder, as the files have them."""
        gating, others = set(GATE_AXES), set(AXES)
        for data in declarations:
            gating |= {_fold(axis) for axis in as_list(data.get("gate_axes")) if isinstance(axis, str)}
            others |= {_fold(axis) for axis in as_list(data.get("axes")) if isinstance(axis, str)}
        return cls(frozenset(gating), frozenset(gating | others))

    def check(self, definition: Definition) -> None:
        """Report an undeclared axis that is close to a gating one, and warn of any other, once for each."""
        for number, criterion in enumerate(map(as_map, as_list(definition.fields.get("criteria")))):
            axis = criterion.get("axis")
            if isinstance(axis, str) and _fold(axis) not in self.declared:
                self._report(definition, axis, ["criteria", number, "axis"])

    def _report(self, definition: Definition, axis: str, path: KeyPath) -> None:
        declare = f"declare it: `axes: [{axis}]` in an environment or a benchmark"
        nearest = find_similar_name(_fold(axis), self.gating)
        if nearest is not None:
            message = f"unknown axis `{axis}`: it would not gate as `{nearest}` does"
            definition.problem(path, message, f"did you mean `{nearest}`? If not, {declare}")
        elif _fold(axis) not in self.warned:
            self.warned.add(_fold(axis))
            hint = did_you_mean(_fold(axis), self.declared)
            hint = f"{hint} If not, {declare}" if hint.startswith("did") else declare
            definition.warning(path, f"the axis `{axis}` is declared nowhere", hint)


def _fold(axis: str) -> str:
    return axis.strip().casefold()


@dataclass(frozen=True)
class CriteriaCheck:
    """Checks the criteria of one task against each other and against its conversation."""

    catalog: Catalog
    definition: Definition
    path: KeyPath
    """The place of the criteria as a whole."""
    inaction_key: str = "allow_inaction: true"
    """What an author writes if an agent that does nothing may pass; empty if the format has no such key."""

    def warn_of_idle_pass(self, task: Task) -> None:
        """Warn if an agent passes that says a word and does nothing else. The gates of the criteria must be set."""
        if task.allow_inaction:
            return
        counted = [criterion for criterion in task.criteria if criterion.weight or criterion.gate]
        needed = (1 - PASS_THRESHOLD) * sum(criterion.weight for criterion in counted)
        idle: list[Criterion] = []
        missed = 0.0
        for criterion in counted:
            if self.catalog.passes_on_any_word(criterion.assertion, task):
                idle.append(criterion)
                continue
            missed += criterion.weight
            if criterion.gate or missed > needed + 1e-12:
                return
        if any(criterion.weight for criterion in idle):
            self._warn(idle, has_others=missed > 0)

    def _warn(self, idle: Sequence[Criterion], *, has_others: bool) -> None:
        labels = ", ".join(repr(criterion.label) for criterion in idle[:MAX_NAMED_CRITERIA])
        more = len(idle) - MAX_NAMED_CRITERIA
        labels += f" and {more} more" if more > 0 else ""
        message = f'an agent that only says "ok" passes: no effect, answer or message is needed for {labels}'
        message += ", and the other criteria weigh too little" if has_others else ""
        hint = "require what the agent must do or say"
        hint += f", or write `{self.inaction_key}` if doing nothing is right" if self.inaction_key else ""
        self.definition.warning(self.path, message, hint, key=True)

    def warn_of_single_turns(self, task: Task, paths: Sequence[KeyPath]) -> None:
        """Warn of assertions that assess a single turn if the conversation can have several.

        `paths` are the places of the criteria, each of its assertion.
        """
        if not task.people or (task.scenario is not None and task.scenario.has_one_turn):
            return
        for criterion, path in zip(task.criteria, paths, strict=False):
            for within, leaf in criterion.assertion.leaves():
                if self.catalog.is_single_turn(leaf.name):
                    message = f"`{leaf.name}` assesses a single turn, and this conversation can have several"
                    hint = "use `judged`, or `criteria` of a scenario file: they are judged on the whole conversation"
                    self.definition.warning([*path, *within], message, hint, key=True)


@dataclass(frozen=True)
class TaskCheck:
    """Checks one task or scenario."""

    calls: CallCheck

    def check_task(self, data: Mapping[str, Any]) -> None:
        """Check criteria, steps, people and slots."""
        written = [data.get("for_each"), *as_list(data.get("entities"))]
        entities = {str(entity.get("id")): entity.get("type") for entity in written if isinstance(entity, dict)}
        scenario = as_map(data.get("scenario"))
        people = _list_people(scenario)
        checked = self._with_names(collect_task_names(data, [person for _, person in people]))
        steps = checked.calls.check_steps(scenario.get("steps"), ["scenario", "steps"])
        if isinstance(data.get("scenario"), list):
            steps = checked.calls.check_steps(data["scenario"], ["scenario"])
        checked = checked._with_names(checked.calls.task.with_steps(steps))
        for number, criterion in enumerate(as_list(data.get("criteria"))):
            checked._check_criterion(as_map(criterion), ["criteria", number], entities)
        checked.calls.check_monitors(data.get("monitors"), ["monitors"])
        for path, person in people:
            self.calls.check_person(person, path)
        self.calls.check_one_per_conversation(people)
        if scenario.get("starts", "agent") == "agent":
            self._check_unused(scenario, people)
        self._check_slots(scenario, "scenario")

    def _with_names(self, names: TaskNames) -> "TaskCheck":
        return TaskCheck(replace(self.calls, task=names))

    def check_form(self, data: Mapping[str, Any]) -> None:
        """Report criteria with the name of an assertion that is not under `assertion`.

        Called before the task is read, because it silences the less clear mistakes of the same place.
        """
        for number, criterion in enumerate(map(as_map, as_list(data.get("criteria")))):
            names = [name for name in criterion if is_known(self.calls.catalog.assertion, str(name))]
            if "assertion" in criterion or not names:
                continue
            path: KeyPath = ["criteria", number]
            missing = "`assertion:` is" if "label" in criterion else "`label:` and `assertion:` are"
            message = f"{missing} missing before `{names[0]}`"
            hint = f"write `assertion: {{{names[0]}: …}}`"
            hint += "" if "label" in criterion else ", with a `label:` beside it"
            self.calls.definition.problem([*path, names[0]], message, hint, key=True, silences=True)
            self.calls.definition.silence(path)

    def check_scenario(self, data: Mapping[str, Any]) -> None:
        """Check a scenario file: its assertions, its person and its setup."""
        setup, goals = as_map(data.get("setup")), as_map(data.get("goals"))
        checked = self._with_names(collect_task_names(data, [as_map(setup.get("person"))]))
        steps = checked.calls.check_steps(setup.get("steps"), ["setup", "steps"])
        checked = checked._with_names(checked.calls.task.with_steps(steps))
        for number, written in enumerate(as_list(goals.get("assertions"))):
            checked.calls.check_assertion(written, ["goals", "assertions", number])
        checked.calls.check_monitors(setup.get("monitors"), ["setup", "monitors"])
        self.calls.check_person(setup.get("person") or {}, ["setup", "person"])
        self._check_slots(setup, "setup")
        for number, written in enumerate(as_list(goals.get("expected_tools"))):
            for key in as_map(written).keys() & {"tool_called", "tool_group"}:
                path: KeyPath = ["goals", "expected_tools", number, key]
                self.calls.agent.check_assertion(key, written[key], path, self.calls.definition)

    def _check_slots(self, setup: Mapping[str, Any], key: str) -> None:
        slots = setup.get("initial_slots")
        self.calls.agent.check_slots(slots, [key, "initial_slots"], self.calls.definition)

    def _check_unused(self, scenario: Mapping[str, Any], people: Sequence[WrittenPart]) -> None:
        """Report keys that have no effect when the agent starts: the person says no opening, and there are no turns.

        A person on the phone says a written opening when they first answer a call.
        """
        for path, person in people:
            is_greeting = person.get("channel") == "phone" and isinstance(person.get("opening"), str)
            if person.get("opening") is not None and not is_greeting:
                message = "`opening` has no effect: the agent starts this task"
                hint = "write `starts: person`, or move the line to `lines` or `script`"
                self.calls.definition.problem([*path, "opening"], message, hint)
        for key in _CONVERSATION_KEYS:
            if scenario.get(key) not in (None, {}):
                message = f"`{key}` has no effect: the agent starts this task"
                self.calls.definition.problem(["scenario", key], message, "write `starts: person`, or remove it")

    def _check_criterion(self, data: Mapping[str, Any], path: KeyPath, entities: WrittenEntities) -> None:
        call = self.calls.check_assertion(data.get("assertion"), [*path, "assertion"])
        entity, here = data.get("input_entity_id"), [*path, "input_entity_id"]
        if not isinstance(entity, str):
            return
        for _, leaf in call.leaves() if call is not None else ():
            self._check_scope(leaf, entity, here, entities)
        if entity not in entities:
            hint = did_you_mean(entity, entities) or "the task has no entities"
            self.calls.definition.problem(here, f"no entity `{entity}`", hint)

    def _check_scope(self, call: AssertionCall, entity: str, path: KeyPath, entities: WrittenEntities) -> None:
        """Report an `input_entity_id` that cannot limit what an assertion checks."""
        named = [field for field in self._entity_fields(call) if as_map(call.args).get(field) is not None]
        type = entities.get(entity)
        reason = self.calls.catalog.explain_unscoped(call, type if isinstance(type, str) else None)
        if reason:
            message = f"`input_entity_id` cannot limit `{call.name}`: {reason}"
            hint = "remove `input_entity_id`"
            hint += "" if named else f"; to name the record in a value, use a template: {{{{ {entity}.… }}}}"
            self.calls.definition.problem(path, message, hint)
        elif named:  # then it could never fail
            message = f"`input_entity_id` and `{named[0]}` cannot be combined: limited to {entity}, it can never fail"
            self.calls.definition.problem(path, message, "remove `input_entity_id`")

    def _entity_fields(self, call: AssertionCall) -> list[str]:
        catalog = self.calls.catalog
        return list(catalog.entity_fields(call.name)) if is_known(catalog.assertion, call.name) else []


def _list_people(scenario: Mapping[str, Any]) -> list[WrittenPart]:
    """Return the people of a task's scenario as the file has them, each with its path."""
    several: list[WrittenPart] = [
        (["scenario", "people", number], as_map(person))
        for number, person in enumerate(as_list(scenario.get("people")))
    ]
    return [(["scenario", "person"], as_map(scenario["person"])), *several] if scenario.get("person") else several
