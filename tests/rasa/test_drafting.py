"""Drafts from flows: one valid file for each flow and kind, with assertions that follow from the flow."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from clerkship.cli.app import run
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.rasa.drafts.conditions import Requirement, find_values
from clerkship.rasa.drafts.drafting import DraftRequest, DraftResult, draft_scenarios
from clerkship.rasa.drafts.kinds import KINDS
from clerkship.rasa.drafts.values import build_samples
from clerkship.service.checking import ValidationRequest, validate
from clerkship.settings import Settings
from clerkship.suite_files.yaml import parse_yaml

FLOWS = """
flows:
  pay_bill:
    name: pay a bill
    description: Pay a bill from an account.
    if: slots.logged_in
    steps:
      - collect: account
        description: the account to pay from
      - collect: amount
        rejections: [{if: slots.amount < 1, utter: utter_too_little}]
      - collect: speed
      - id: check
        action: action_check_funds
        next:
          - if: not slots.enough_funds
            then:
              - {action: utter_insufficient, next: END}
          - else: ask
      - id: ask
        collect: confirmed
        next:
          - {if: slots.confirmed, then: pay}
          - {else: END}
      - {id: pay, action: action_pay}
      - action: utter_paid
  show_bill:
    description: Show a bill of an account.
    steps: [{collect: account}, {action: action_show}]
  opening_hours:
    description: Say when we are open.
    steps: [{action: utter_hours}]
  inner:
    if: false
    description: Only called.
    steps: [{action: action_inner}]
"""
DOMAIN = """
slots:
  logged_in: {type: bool, mappings: [{type: controlled}]}
  enough_funds: {type: bool, mappings: [{type: controlled}]}
  account: {type: text, mappings: [{type: from_llm}]}
  amount: {type: float, mappings: [{type: from_llm}]}
  speed: {type: categorical, values: [normal, fast], mappings: [{type: from_llm}]}
  confirmed: {type: bool, mappings: [{type: from_llm}]}
actions: [action_check_funds, action_pay, action_show, action_inner]
responses:
  utter_paid: [{text: done}]
  utter_hours: [{text: nine to five}]
  utter_too_little: [{text: more}]
  utter_insufficient: [{text: no}]
"""
FLOW_KINDS = [kind for kind in KINDS if kind != "out_of_scope"]
WriteProject = Callable[[str, str], None]


@pytest.fixture(autouse=True)
def write_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteProject:
    """A function that writes the files of a project."""
    monkeypatch.chdir(tmp_path)

    def write(flows: str, domain: str) -> None:
        Path("data").mkdir(exist_ok=True)
        Path("data/flows.yml").write_text(dedent(flows), encoding="utf-8")
        if domain:
            Path("domain.yml").write_text(dedent(domain), encoding="utf-8")

    write(FLOWS, DOMAIN)
    return write


def draft(**wanted: Any) -> DraftResult:
    """Draft scenarios from the working folder."""
    request = DraftRequest(sources=(Path("data"),), to=Path("eval/scenarios"), **wanted)
    return draft_scenarios(request, Settings(), RegisteredCatalog())


def read(stem: str) -> dict[str, Any]:
    """Return a draft as data."""
    path = Path(f"eval/scenarios/{stem}.yml")
    found = parse_yaml(path.read_text(encoding="utf-8"), path.name).data["scenario"]
    assert isinstance(found, dict)
    return found


def get_assertions(stem: str, name: str) -> list[Any]:
    """Return the assertions of a draft with a name."""
    return [call[name] for call in read(stem)["goals"]["assertions"] if name in call]


def test_each_flow_and_applicable_kind_gets_a_valid_file() -> None:
    drafts = draft()
    names = sorted(path.name for path in Path("eval/scenarios").iterdir())
    assert names == sorted(
        [f"{flow}_{kind}.yml" for flow in ("pay_bill", "show_bill") for kind in FLOW_KINDS]
        + [f"opening_hours_{kind}.yml" for kind in ("happy_path", "impatient")]
        + ["out_of_scope.yml"]
    )
    assert sorted(drafts.skipped) == [
        ("inner", "", "users cannot start it"),
        ("opening_hours", "cancellation", "it asks for nothing"),
        ("opening_hours", "clarification", "no other flow is similar"),
        ("opening_hours", "correction", "it asks for nothing"),
    ]
    assert drafts.warnings == []
    checked = validate(ValidationRequest(path=Path("eval"), domain=Path("domain.yml")), Settings(), RegisteredCatalog())
    assert checked.problems == ()
    assert drafts.exit_code() == 0


def test_happy_path_asserts_what_follows_from_the_flow() -> None:
    draft(kinds=("happy_path",))
    data = read("pay_bill_happy_path")
    assert data["name"] == "pay a bill: all goes well"
    assert "type" not in data
    assert data["setup"] == {"initial_slots": {"logged_in": True}}  # it is what the flow is guarded by
    assert data["goals"]["assertions"] == [
        {"flow_started": {"flow_ids": ["pay_bill"], "operator": "any"}},
        {"flow_completed": {"flow_id": "pay_bill"}},
        {
            "slot_was_set": [
                {"name": "account"},  # free text, which an assistant may store in other words
                {"name": "amount", "value": 100},
                {"name": "speed", "value": "normal"},
                {"name": "confirmed", "value": True},
            ]
        },
        {
            "sequencing": [
                {"flow_started": "pay_bill"},
                {"action_executed": "action_check_funds"},
                {"action_executed": "action_pay"},
                {"flow_completed": "pay_bill"},
            ]
        },
        {"bot_uttered": {"utter_name": "utter_paid"}},
        {"bot_did_not_utter": {"utter_name": "utter_too_little"}},
        {"bot_did_not_utter": {"utter_name": "utter_insufficient"}},
    ]
    assert "amount: 100" in data["simulation_context"]
    assert "confirmed: yes" in data["simulation_context"]
    text = Path("eval/scenarios/pay_bill_happy_path.yml").read_text(encoding="utf-8")
    assert "# A draft, to be edited: happy path, for the flow pay_bill (data/flows.yml)." in text
    assert text.count("# TODO") == 3
    assert "# The flow goes this way if slots.enough_funds; and slots.confirmed." in text
    assert "account is the account to pay from" in text
    assert "Slots that no user fills: enough_funds (bool), logged_in (bool)." in " ".join(text.replace("#", "").split())


def test_other_kinds_have_their_own_assertions() -> None:
    draft(target="clerkship")
    assert "at first you say another account" in read("pay_bill_correction")["simulation_context"]
    assert get_assertions("pay_bill_correction", "sequencing")[0][:2] == [{"slot_was_set": "account"}] * 2
    set_slots = get_assertions("pay_bill_correction", "slot_was_set")[0]
    assert set_slots[0] == {"name": "account"}  # the assistant may store other words than `some account`
    assert "in the same message" in read("show_bill_correction")["simulation_context"]  # nothing is asked after it
    assert get_assertions("pay_bill_cancellation", "flow_cancelled") == [{"flow_id": "pay_bill"}]
    assert get_assertions("pay_bill_cancellation", "flow_completed") == []
    assert get_assertions("pay_bill_cancellation", "action_not_executed") == ["action_pay"]  # funds were checked before
    assert "confirmed: yes" not in read("pay_bill_cancellation")["simulation_context"]
    offered = get_assertions("pay_bill_clarification", "pattern_clarification_contains")
    assert offered == [{"flow_ids": ["pay_bill", "show_bill"], "operator": "all"}]
    assert get_assertions("pay_bill_cancellation", "slot_was_not_set") == [[{"name": "confirmed", "value": True}]]
    assert get_assertions("pay_bill_cancellation", "flow_not_completed") == [{"flow_id": "pay_bill"}]
    assert {read(f"pay_bill_{kind}")["type"] for kind in FLOW_KINDS} == {"happy_path", "edge_case"}


def test_one_out_of_scope_draft_covers_all_flows() -> None:
    draft(target="clerkship", kinds=("out_of_scope",))
    assert [path.name for path in Path("eval/scenarios").iterdir()] == ["out_of_scope.yml"]
    actions = ["action_check_funds", "action_pay", "action_show"]
    assert get_assertions("out_of_scope", "action_not_executed") == actions
    flows = [{"flow_id": flow} for flow in ("pay_bill", "show_bill", "opening_hours")]
    assert get_assertions("out_of_scope", "flow_not_completed") == flows
    assert get_assertions("out_of_scope", "bot_did_not_utter") == [
        {"utter_name": "utter_paid"},
        {"utter_name": "utter_hours"},
    ]
    text = Path("eval/scenarios/out_of_scope.yml").read_text(encoding="utf-8")
    assert "# A draft, to be edited: out of scope, for all flows (data/flows.yml)." in text
    assert "Slots that no user fills" not in text  # all of them are of one flow


def test_silent_agent_fails_every_draft(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for file in draft().written:
        text = file.path.read_text(encoding="utf-8")
        setup = re.sub(r"^  setup:\n", "  setup:\n    person: {lines: [Hello!]}\n", text, flags=re.MULTILINE)
        file.path.write_text(setup, encoding="utf-8")
    assert run(["run", "eval", "--agent", "nop", "--no-judge", "--json"]) == 1
    verdicts = [task["verdict"] for task in json.loads(capsysbinary.readouterr().out)["tasks"]]
    assert verdicts == ["fail"] * 13


def test_existing_files_are_kept_unless_forced() -> None:
    draft(kinds=("happy_path",))
    mine = Path("eval/scenarios/show_bill_happy_path.yml")
    mine.write_text("mine", encoding="utf-8")
    drafts = draft(kinds=("happy_path", "impatient"), flows=("show_*",))
    assert [file.path.name for file in drafts.written] == ["show_bill_impatient.yml"]
    assert drafts.kept == [mine]
    assert mine.read_text(encoding="utf-8") == "mine"
    draft(kinds=("happy_path",), flows=("show_bill",), force=True)
    assert "A draft" in mine.read_text(encoding="utf-8")
    assert [path.name for path in mine.parent.iterdir() if path.name.startswith(".")] == []


def test_dry_run_writes_nothing_and_calls_no_model(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    command = ["generate", "scenarios", "--from", "data", "--dry-run", "--json", "--model", "scripted:nowhere.json"]
    assert run([*command, "--kind", "happy-path"]) == 0
    told = json.loads(capsysbinary.readouterr().out)
    assert [(file["file"], file["by"]) for file in told["written"]] == [
        (f"eval/scenarios/{flow}_happy_path.yml", None) for flow in ("pay_bill", "show_bill", "opening_hours")
    ]
    assert told["domain"] == "domain.yml"
    assert not Path("eval").exists()


def test_command_reports_drafts_and_next_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", "scenarios", "--from", "data", "--flow", "opening_hours"]) == 0
    out = capsys.readouterr().out
    assert "+ eval/scenarios/opening_hours_happy_path.yml" in out
    assert "- opening_hours, correction: it asks for nothing" in out
    assert "2 drafts, and all validate" in out
    assert "validate eval/scenarios" in out
    assert run(["generate", "scenarios", "--from", "data", "--flow", "opening_hours"]) == 0
    assert "opening_hours_happy_path.yml stays as it is" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "nowhere"], "there is no such file or folder"),
        (["--from", "domain.yml"], "there are no flows"),
        (["--from", "data", "--kind", "hapy_path"], "unknown kind `hapy_path`; did you mean `happy_path`?"),
        (["--from", "data", "--flow", "pay"], "no flow `pay`"),
        (["--from", "data", "--domain", "nowhere.yml"], "there is no such domain"),
        (["--from", "data", "--model", "scripted:nowhere.json"], "nowhere.json"),
        (["--from", "data", "--model", "none"], "`none` cannot write drafts"),
        (["--from", "data", "--to", "domain.yml/x"], "it cannot be written"),
    ],
)
def test_invalid_request_is_reported_and_nothing_written(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["generate", "scenarios", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not Path("eval").exists()


def test_unknown_slot_is_a_warning_and_not_asserted(write_project: WriteProject) -> None:
    write_project(
        "flows: {x: {description: d, steps: [{collect: colour}, {action: action_y}]}}",
        "slots: {a: {type: text}}\nactions: [b]",
    )
    drafts = draft(kinds=("happy_path", "correction"))
    said = "\n".join(map(str, drafts.warnings))
    assert "data/flows.yml:1:9: x: it collects the slot `colour`, which is not in domain.yml" in said
    assert "the action `action_y` is not in domain.yml" in said
    assert get_assertions("x_happy_path", "slot_was_set") == []
    assert "# TODO domain.yml has no slot colour" in Path("eval/scenarios/x_happy_path.yml").read_text(encoding="utf-8")


def test_missing_domain_is_a_warning(write_project: WriteProject) -> None:
    Path("domain.yml").unlink()
    drafts = draft(kinds=("happy_path",))
    assert "no domain is known" in str(drafts.warnings[0])
    assert drafts.domain is None
    assert len(drafts.written) == 3


def test_called_and_linked_flows_are_followed_and_cycles_end(write_project: WriteProject) -> None:
    write_project(
        """
        flows:
          a:
            description: first
            steps:
              [{collect: account}, {call: b}, {call: b}, {call: some_tool}, {action: action_check_funds}, {link: c}]
          b: {description: second, steps: [{collect: amount}, {action: action_show}, {call: a}]}
          c: {description: third, steps: [{action: action_pay}, {link: a}]}
          d: {description: fourth, steps: [{id: again, collect: account, next: again}]}
        """,
        DOMAIN,
    )
    drafts = draft(kinds=("happy_path",))
    said = "\n".join(map(str, drafts.warnings))
    assert "flows call each other in a cycle: b -> a" in said
    assert "flows call each other in a cycle: c -> a" in said
    [slots] = get_assertions("a_happy_path", "slot_was_set")
    assert [slot["name"] for slot in slots] == ["account", "amount"]
    assert get_assertions("a_happy_path", "action_executed") == [
        "action_show",
        "action_pay",
    ]  # not in this flow's own order
    text = Path("eval/scenarios/a_happy_path.yml").read_text(encoding="utf-8")
    assert "It calls some_tool, which is not a known flow" in text
    assert "It goes over into the flow c." in text
    assert [slot["name"] for slot in get_assertions("d_happy_path", "slot_was_set")[0]] == ["account"]


def test_unusual_names_and_texts_round_trip(write_project: WriteProject) -> None:
    names = ["Über uns!", "uber-uns", "流れ", "../../etc/passwd", "x" * 300, "no", "a: b #c"]
    described = 'say "hi": ${HOME} $${HOME} {{ x }} # not a comment \\n \u2028 \U0001f600 - & *'
    flows = {name: {"name": name, "description": described, "steps": [{"collect": "pin"}]} for name in names}
    write_project(
        "flows: " + json.dumps(flows, ensure_ascii=True).replace("\\ud83d\\ude00", "😀"), "slots: {pin: {type: text}}"
    )
    drafts = draft(kinds=("happy_path", "correction"))
    stems = sorted(file.path.stem.removesuffix("_happy_path") for file in drafts.written if "_happy" in file.path.name)
    assert stems == sorted(["uber_uns", "uber_uns_2", "flow", "etc_passwd", "x" * 60, "no", "a_b_c"])
    assert {path.parent for path in Path().rglob("*_happy_path.yml")} == {Path("eval/scenarios")}
    assert read("no_happy_path")["name"] == "no: all goes well"
    assert get_assertions("no_happy_path", "slot_was_set") == [[{"name": "pin", "value": "4711"}]]
    assert "$ {HOME} $ {HOME} {{ x }} # not a comment" in read("flow_happy_path")["simulation_context"]
    draft(kinds=("happy_path",), target="clerkship", force=True)
    assert "$${HOME} $$${HOME} {{ x }} # not a comment" in read("flow_happy_path")["simulation_context"]


@pytest.mark.slow
def test_long_flow_with_many_branches_is_drafted(write_project: WriteProject) -> None:
    steps = [
        {"id": f"s{n}", "action": f"utter_{n}", "next": [{"if": "slots.a", "then": f"s{n + 1}"}, {"else": f"s{n + 2}"}]}
        for n in range(3000)
    ]
    steps += [{"id": f"s{n}", "action": "utter_end", "next": "s1"} for n in (3000, 3001)]
    write_project("flows: " + json.dumps({"long": {"description": "d", "steps": steps}}), "slots: {a: {type: bool}}")
    drafts = draft(kinds=("happy_path",))
    assert len(get_assertions("long_happy_path", "bot_uttered")) > 2000
    assert len(drafts.written) == 1


VALUES = {
    "order_id": "ORDER-1001",
    "card_last4": "4412",
    "last_four_digits": "4412",
    "account_number": "ACCOUNT-1001",
    "number_of_people": "3",
    "restaurant_name": "some restaurant name",
    "first_name": "Sam Taylor",
    "name": "Sam Taylor",
    "delivery-date": "2026-03-09",
    "id": "NO-1001",
    "colour": "some colour",
}


@pytest.mark.parametrize(("slot", "value"), VALUES.items())
def test_sample_value_of_text_depends_on_the_slot_name(slot: str, value: str) -> None:
    found = build_samples(slot, None)
    assert found.right == value
    assert found.wrong not in (value, None)


def test_path_does_not_take_rejecting_branches(write_project: WriteProject) -> None:
    write_project(
        """
        flows:
          book:
            description: Book a table
            steps:
              - collect: confirmed
                next:
                  - if: not slots.confirmed
                    then: [{action: action_cancel_flow, next: END}]
                  - else: book
              - id: book
                noop: true
                next:
                  - if: slots.full
                    then: [{action: utter_sorry_full}, {link: human_handoff}]
                  - else: [{action: utter_booked, next: END}]
        """,
        DOMAIN + "  utter_booked: [{text: x}]\n",
    )
    draft(kinds=("happy_path",))
    assert get_assertions("book_happy_path", "slot_was_set") == [[{"name": "confirmed", "value": True}]]
    assert get_assertions("book_happy_path", "bot_uttered") == [{"utter_name": "utter_booked"}]
    assert get_assertions("book_happy_path", "bot_did_not_utter") == [{"utter_name": "utter_sorry_full"}]


CONDITIONS: dict[str, dict[str, Any]] = {
    "slots.a": {"a": True},
    "not slots.a": {"a": False},
    "not not slots.a": {"a": True},
    "slots.a is true": {"a": True},
    "slots.a is not true": {"a": False},
    "slots.a == 'x y'": {"a": "x y"},
    'slots.a = "x" and slots.b': {"a": "x", "b": True},
    "slots.a != 'x'": {},
    "slots.a > 3": {},
    "slots.a or slots.b": {},
    "not slots.a = 'x' and slots.b": {"b": True},
    "not (slots.a or slots.b)": {"a": False, "b": False},
    "slots.a matches '^x$'": {},
    "slots.a > slots.b": {},
    "((": {},
    "slots.a = 3": {"a": 3.0},
    "slots.a is null": {},
    "": {},
}


@pytest.mark.parametrize(("condition", "slots"), CONDITIONS.items())
def test_simple_conditions_are_parsed(condition: str, slots: dict[str, Any]) -> None:
    assert find_values(Requirement(condition)) == slots


def test_invalid_yaml_in_flows_is_reported_with_its_line() -> None:
    Path("data/broken.yml").write_text("flows:\n  x: {steps: [\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"data/broken.yml:\d+:\d+"):
        draft()


def test_draft_in_the_guide_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parent.parent.parent
    guide = (root / "docs" / "guide" / "draft_scenarios.md").read_text(encoding="utf-8")
    out = Path().resolve() / "out"
    monkeypatch.chdir(root / "examples" / "order_support")
    request = DraftRequest(sources=(Path("data"),), to=out, domain=Path("domain.yml"), flows=("change_address",))
    draft_scenarios(request, Settings(), RegisteredCatalog())
    written = (out / "change_address_cancellation.yml").read_text(encoding="utf-8")
    modeline, _, text = written.partition("\n")
    assert modeline == "# yaml-language-server: $schema=.clerkship/schemas/scenario.schema.json"
    assert f"```yaml\n{modeline.replace('=', '=../')}\n{text}```" in guide, (
        "the guide writes to a folder of the project"
    )
