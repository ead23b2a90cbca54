"""Check a task or a scenario file in the form in which it will run: criteria, steps, people and slots.

Each part is validated separately, so that a mistake in one part does not hide mistakes in the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clerkship.model.call import AssertionCall
from clerkship.model.names import did_you_mean
from clerkship.suite_files.call_check import CallCheck, TaskNames, WrittenPart, collect_task_names
from clerkship.suite_files.definition import as_list, as_map
from clerkship.suite_files.environment_check import is_known
from clerkship.suite_files.yaml import KeyPath

WrittenEntities = Mapping[str, Any]
"""The types of a task's entities by their ids, as they are written."""
_CONVERSATION_KEYS = ("initial_slots", "stubs", "max_turns", "turn_timeout")
"""Keys of a scenario that only apply if the person starts."""


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
