"""Reading the flows of a Rasa project, and the warnings about them."""

from pathlib import Path
from textwrap import dedent

import pytest

from clerkship.model.errors import InputError
from clerkship.rasa.flows import ProjectFlows, read_flows


def read(folder: Path, text: str, name: str = "flows.yml") -> ProjectFlows:
    """Return the flows of one file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")
    return read_flows([folder])


def test_edges_lead_to_next_named_or_nested_steps_or_the_end(tmp_path: Path) -> None:
    flows = read(
        tmp_path,
        """
        flows:
          pay:
            name: pay a bill
            description: |
              Pay a bill
              of a customer.
            if: slots.known
            persisted_slots: [amount]
            steps:
              - collect: amount
                description: in euros
                rejections:
                  - {if: slots.amount < 1, utter: utter_too_little}
                next:
                  - if: slots.amount > 100
                    then:
                      - call: check_limit
                      - {action: utter_checked, next: done}
                  - else: done
              - {noop: true, next: END}
              - {id: done, action: action_pay}
              - set_slots: [{paid: true}, {amount: null}]
              - link: say_goodbye
          pattern_correction: {description: ours, steps: [{action: utter_ok}]}
        """,
    )
    assert list(flows.flows) == ["pay"]
    assert flows.warnings == ()
    pay = flows.flows["pay"]
    assert (pay.name, pay.description, pay.guard, pay.line) == (
        "pay a bill",
        "Pay a bill of a customer.",
        "slots.known",
        3,
    )
    steps = [(step.kind, step.target) for step in pay.steps]
    assert steps == [
        ("collect", "amount"),
        ("call", "check_limit"),
        ("action", "utter_checked"),
        ("noop", ""),
        ("action", "action_pay"),
        ("set_slots", ""),
        ("link", "say_goodbye"),
    ]
    first = pay.steps[0]
    assert first.rejections == ("utter_too_little",)
    assert [(edge.to, edge.condition, edge.unless) for edge in first.edges] == [
        (1, "slots.amount > 100", ()),
        (4, None, ("slots.amount > 100",)),
    ]
    assert [[edge.to for edge in step.edges] for step in pay.steps[1:]] == [[2], [4], [None], [5], [6], []]
    assert pay.steps[5].slots == {"paid": True, "amount": None}


def test_files_and_folders_are_merged(tmp_path: Path) -> None:
    for name in ("data/a.yml", "data/more/b.yml", "other/c.yml"):
        read(tmp_path, f"flows: {{flow_{Path(name).stem}: {{steps: [{{action: utter_x}}]}}}}", name)
    (tmp_path / "data" / "nlu.yml").write_text("nlu: [this is not for us", encoding="utf-8")
    found = read_flows([tmp_path / "data", tmp_path / "other" / "c.yml"]).flows
    assert sorted(found) == ["flow_a", "flow_b", "flow_c"]


ODD = {
    "flows: {x: {steps: []}, y: {steps: [{action: a}]}}": ":1:9: flows.x: the flow is skipped: it has no steps",
    "flows: {x: 3, y: {steps: [{action: a}]}}": "the flow is skipped: it has no steps",
    "flows: {y: {steps: [{action: a, colour: red}]}}": ":1:33: flows.y.steps.0.colour: unknown key `colour` is skipped",
    "flows: {y: {steps: [{colect: a}]}}": "the step is skipped: its kind is unknown",
    "flows: {y: {steps: [{collect: [a]}]}}": "the step is skipped: `collect` needs a name, as text",
    "flows: {y: {steps: [{action: }]}}": "the step is skipped: `action` needs a name, as text",
    "flows: {y: {stepps: 1, steps: [{action: a}]}}": "unknown key `stepps` is skipped; did you mean `steps`?",
    "flows: {y: {steps: [{action: a, next: somewhere}]}}": "no step `somewhere`: treated as the end",
    "flows: {y: {steps: [{action: a, next: [3]}]}}": "expected `if` and `then`, or `else`; it is skipped",
    "flows: {y: {steps: [hello, {action: a}]}}": "expected a step, not 'hello'; it is skipped",
}


@pytest.mark.parametrize(("text", "said"), ODD.items())
def test_unsupported_parts_are_warnings_and_the_rest_is_read(text: str, said: str, tmp_path: Path) -> None:
    flows = read(tmp_path, text)
    assert list(flows.flows) == ["y"]
    assert said in "\n".join(map(str, flows.warnings))


def test_flow_with_duplicate_id_is_skipped(tmp_path: Path) -> None:
    read(tmp_path, "flows: {x: {name: first, steps: [{action: a}]}}", "a.yml")
    flows = read(tmp_path, "flows: {x: {name: second, steps: [{action: a}]}}", "b.yml")
    assert flows.flows["x"].name == "first"
    assert "the flow is skipped: there is another one with this id" in str(flows.warnings[0])


BAD = {
    "flows: {x: [": "flows.yml:2:1: not YAML",
    "flows:\n  x:\n steps": "flows.yml:3",
    "flows: {}": "there are no flows",
    "flows: {x: {}}": "there are no flows; ",
    "slots: {}": "there are no flows; expected YAML files with the key `flows`",
}


@pytest.mark.parametrize(("text", "said"), BAD.items())
def test_unreadable_file_is_reported_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    assert said in str(raised.value)


def test_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file or folder"):
        read_flows([tmp_path / "nowhere"])
