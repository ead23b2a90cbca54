"""Tasks: fields, validation, immutability and round trips."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from clerkship.model.dataset import Dataset, DatasetFile
from clerkship.model.environment import Environment, Reaction, Simulator
from clerkship.model.run import CriterionRun, FieldCheck
from clerkship.model.scenario import EndRule, EventMatch, Scenario, ScenarioPerson, ScriptRule
from clerkship.model.task import Benchmark, Criterion, Entity, Task

FULL: dict[str, Any] = {
    "name": "Book it",
    "task_item": {"instruction": "Book", "trigger": "a fax", "expected_inputs": ["x"], "anything": {"at": [1, None]}},
    "scenario": {
        "steps": [
            {"files.drop": {"path": "a", "text": "b"}},
            {"at": "10m", "clock.advance": {"by": "5s"}},
        ],
        "person": {
            "name": "Rosa",
            "opening": "Hi",
            "script": [
                {"when": "(?i)birth", "say": ["1965", "I said it"], "times": 2},
                {"when": "sure", "press": "^Yes"},
                {"when": {"event": "files.*", "where": {"path": {"matches": "^a"}}}, "say": "Thanks"},
            ],
            "fallback": "What?",
            "end": {"when": "bye", "say": "Bye", "after": 4},
        },
        "starts": "person",
        "max_turns": 9,
    },
    "entities": [{"id": "patient", "dataset": "d", "type": "Patient", "where": {"birthdate": "1965-03-15"}}],
    "tags": ["a", "b"],
    "timeout": 30.5,
    "criteria": [
        {
            "label": "x",
            "assertion": {"file_present": {"path": "a"}},
            "weight": 2,
            "axis": "safety",
            "input_entity_id": "patient",
            "gate": True,
        }
    ],
    "environment": "clinic",
    "solution": "s.py",
}
MODELS: list[type[BaseModel]] = [Task, Entity, Criterion, Scenario, ScenarioPerson, ScriptRule, EndRule, EventMatch]
MODELS += [Environment, Simulator, Benchmark, Dataset, DatasetFile, CriterionRun, FieldCheck]


def test_a_task_has_the_seeds_fields() -> None:
    seed = {"name", "task_item", "scenario", "entities", "tags", "timeout", "criteria"}
    assert (
        seed
        | {"environment", "solution", "wrong", "ways", "compat", "metrics", "for_each", "allow_inaction"}
        | {"monitors", "done_within"}
        == Task.model_fields.keys()
    )
    assert Criterion.model_fields.keys() == {"label", "assertion", "weight", "axis", "input_entity_id", "gate"}


def test_task_needs_only_a_name() -> None:
    task = Task.model_validate({"name": "A"})
    assert (task.task_item, task.scenario, task.entities, task.timeout, task.criteria) == (None, None, (), None, ())


def test_task_round_trips_through_json() -> None:
    task = Task.model_validate(FULL)
    written = task.model_dump(mode="json")
    assert Task.model_validate(written) == task
    assert Task.model_validate_json(task.model_dump_json()) == task
    assert written["criteria"][0]["assertion"] == {"file_present": {"path": "a"}}
    assert written["scenario"]["steps"][1] == {"at": "10m", "clock.advance": {"by": "5s"}}
    assert written["task_item"] == FULL["task_item"]


def test_environment_round_trips_through_json() -> None:
    environment = Environment.model_validate(
        {
            "name": "e",
            "now": "2026-03-02T09:00:00-05:00",
            "tick": "250ms",
            "simulators": {"a": {"kind": "files", "config": {"read_only": True}, "datasets": []}},
            "reactions": ["a.file.written -> a"],
        }
    )
    written = environment.model_dump(mode="json")
    assert Environment.model_validate(written) == environment
    assert written["now"] == "2026-03-02T09:00:00-05:00"
    assert (written["reactions"], written["tick"]) == (["a.file.written -> a"], "250ms")


@pytest.mark.parametrize("model", MODELS)
def test_unknown_keys_are_rejected(model: type[BaseModel]) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate({"nonsense": 1})
    assert ("nonsense",) in [error["loc"] for error in caught.value.errors() if error["type"] == "extra_forbidden"]


def test_task_is_frozen_at_every_level() -> None:
    task = Task.model_validate(FULL)
    for target, field in ((task, "name"), (task.criteria[0], "weight"), (task.scenario, "starts")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(target, field, "x")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 201),
        ("name", 5),
        ("task_item", "text"),
        ("tags", "x"),
        ("timeout", "soon"),
        ("timeout", 0),
        ("timeout", 86_401),
        ("timeout", True),
        ("criteria", [{"label": "x"}]),
        ("criteria", [{"label": "", "assertion": "never"}]),
        ("criteria", [{"label": "x", "assertion": "never", "weight": -1}]),
        ("criteria", [{"label": "x", "assertion": "never", "gate": "yes"}]),
        ("criteria", [{"label": "x", "assertion": "never", "gate": 1}]),
        ("entities", [{"id": "not a name", "dataset": "d"}]),
        ("scenario", {"starts": "person"}),
        ("scenario", {"starts": "person", "person": {"name": "silent"}}),
        ("scenario", {"max_turns": 0}),
        ("scenario", {"person": {"script": [{"when": "(", "say": "x"}]}}),
        ("scenario", {"person": {"script": [{"when": "x", "say": ""}]}}),
    ],
)
def test_field_of_the_wrong_type_is_rejected(field: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        Task.model_validate(FULL | {field: value})


def test_scenario_can_be_a_list_of_steps() -> None:
    steps = [{"clock.advance": {"by": "5s"}}]
    assert Scenario.model_validate(steps) == Scenario.model_validate({"steps": steps})


def test_reaction_is_parsed_from_an_arrow() -> None:
    reaction = Reaction.model_validate(" drop.file.* -> archive ")
    assert (reaction.source, reaction.event, reaction.target) == ("drop", "file.*", "archive")
    for bad in ("drop -> archive", "drop.file", "Drop.x -> a", "a.b -> c -> d", 5):
        with pytest.raises(ValidationError):
            Reaction.model_validate(bad)


def test_hash_of_a_dataset_depends_only_on_its_content() -> None:
    one = Dataset(name="a", type="files", files={"x": b"\xff", "y": b"1"})
    assert one.hash == Dataset(name="b", type="files", files={"y": b"1", "x": b"\xff"}).hash
    assert one.hash != Dataset(name="a", type="files", files={"x": b"\xfe", "y": b"1"}).hash
