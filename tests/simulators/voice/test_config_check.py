"""Mistakes in the lines of a phone that are found when files are loaded, with file and line."""

import os
from pathlib import Path
from textwrap import dedent

import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.errors import InputError
from clerkship.suite_files.load import load_library

ENVIRONMENT = """
    environment:
      name: clinic
      simulators:
        phone:
          kind: voice
          config:
            mailboxes: [{name: night}]
            lines:
              - number: "+15550100201"
                name: Payer
                tree: !include shared/tree.yml
                values: {payer_id: CM002, npi: "9999900019"}
      domains: {payer: {kind: payer}}
"""
TREE = """\
    name: Payer
    start: ask_id
    nodes:
      ask_id: {type: collect, prompt: Enter the member id., variable: member_id, next: ask_date}
      ask_date: {type: collect, prompt: Enter the date., variable: birth_date, format: date, next: look_up}
      look_up:
        type: hook
        hook: payer.find_member
        outcomes: {found: done, inactive: done, not_found: message}
      message: {type: voicemail, prompt: Leave a message., mailbox: night}
      done: {type: end, prompt: "{member_name} is a member."}
"""
TASK = """
    task:
      name: Call
      task_item: {instruction: Call the payer.}
"""
CHANGING_TASK = (
    TASK
    + """\
      scenario:
        steps:
          - voice.menu:
              number: "+15550100201"
              tree: !include shared/tree.yml
"""
)
CATALOG = build_catalog_without_plugins()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def load(folder: Path, environment: str = ENVIRONMENT, tree: str = TREE, task: str = TASK) -> list[str]:
    """Return the mistakes in some files."""
    for name, text in {"clinic.yml": environment, "shared/tree.yml": tree, "task.yml": task}.items():
        if text:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(dedent(text), encoding="utf-8")
    try:
        load_library(folder, CATALOG)
    except InputError as error:
        return [str(problem).replace(f"{folder}{os.sep}", "") for problem in error.problems]
    return []


def replace(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def test_valid_lines_load(folder: Path) -> None:
    assert load(folder, task=CHANGING_TASK) == []


@pytest.mark.parametrize(
    ("old", "new", "place", "text"),
    [
        ("payer.find_member", "payer.find_membr", "shared/tree.yml:8:", "unknown hook `payer.find_membr`"),
        ("inactive: done, ", "", "shared/tree.yml:9:", "outcome `inactive`, which is not handled"),
        ("{found: done,", "{fund: done, found: done,", "shared/tree.yml:9:", "has no outcome `fund`"),
        ("variable: member_id", "variable: id", "shared/tree.yml:8:", "needs the value `member_id`"),
        ("mailbox: night", "mailbox: nihgt", "shared/tree.yml:10:", "unknown mailbox `nihgt`"),
        ("{member_name}", "{mebmer_name}", "shared/tree.yml:11:", "{mebmer_name} is not set before"),
    ],
)
def test_mistake_in_a_tree_is_reported_at_its_node(folder: Path, old: str, new: str, place: str, text: str) -> None:
    [line] = load(folder, tree=replace(TREE, old, new))
    assert line.startswith(place)
    assert text in line


def test_hook_of_the_payer_needs_a_payer(folder: Path) -> None:
    environment = replace(ENVIRONMENT, "domains: {payer: {kind: payer}}", "domains: {}")
    [line] = load(folder, environment)
    assert line.startswith("shared/tree.yml:8:")
    assert "the hook `payer.find_member` needs a domain of kind payer" in line
    assert "add `payer: {kind: payer}` under `domains`" in line


def test_phone_without_such_hooks_needs_no_payer(folder: Path) -> None:
    environment = "environment: {name: clinic, simulators: {phone: {kind: voice}}}"
    assert load(folder, environment, tree="") == []


SHIPPED = {
    "front_desk": ("receptionist", "receptionist"),
    "pharmacy": ("pharmacist", "pharmacist"),
    "provider_line": ("representative", "provider_representative"),
}
MAILBOXES = ("billing", "nurse_line", "front_desk", "prescribers", "pharmacy", "provider_services")


def build_shipped(tree: str, representative: str, domains: str) -> str:
    name, script = SHIPPED[tree]
    return f"""
        environment:
          name: clinic
          simulators:
            phone:
              kind: voice
              config:
                mailboxes: [{", ".join(f"{{name: {mailbox}}}" for mailbox in MAILBOXES)}]
                lines:
                  - number: "+15550100201"
                    name: Line
                    tree: {tree}
                    values: {{npi: "9999900019"}}
                    representatives: {{{name}: {representative or script}}}
          domains: {domains}
    """


@pytest.mark.parametrize("tree", SHIPPED)
def test_tree_that_ships_loads_with_its_representative(folder: Path, tree: str) -> None:
    assert load(folder, build_shipped(tree, "", "{payer: {kind: payer}}"), tree="") == []


@pytest.mark.parametrize("tree", ["front_desk", "pharmacy"])
def test_tree_that_is_not_that_of_a_payer_needs_none(folder: Path, tree: str) -> None:
    assert load(folder, build_shipped(tree, "", "{}"), tree="") == []


def test_tree_of_a_payer_needs_one(folder: Path) -> None:
    [line] = load(folder, build_shipped("provider_line", "", "{}"), tree="")
    assert "needs a domain of kind payer; add `payer: {kind: payer}` under `domains`" in line


def test_missing_mailbox_is_reported_with_what_to_add(folder: Path) -> None:
    environment = build_shipped("provider_line", "", "{payer: {kind: payer}}")
    [line] = load(folder, replace(environment, ", {name: provider_services}", ""), tree="")
    assert line.endswith(
        "unknown mailbox `provider_services`; add `{name: provider_services, is_own: false}` under `mailboxes`"
    )


def test_unknown_representative_is_reported(folder: Path) -> None:
    [line] = load(folder, build_shipped("pharmacy", "pharmacit", "{}"), tree="")
    assert "unknown representative `pharmacit`" in line


def test_unknown_tree_is_reported_with_a_suggestion(folder: Path) -> None:
    [line] = load(folder, replace(ENVIRONMENT, "!include shared/tree.yml", "pharmcy"), tree="")
    assert line.startswith("clinic.yml:12:")
    assert "unknown phone tree `pharmcy`" in line
    assert "pharmacy" in line


def test_mistake_in_the_tree_of_a_step_is_reported(folder: Path) -> None:
    environment = replace(ENVIRONMENT, "domains: {payer: {kind: payer}}", "domains: {}")
    lines = load(folder, replace(environment, "tree: !include shared/tree.yml", "mailbox: night"), task=CHANGING_TASK)
    assert len(lines) == 1
    assert lines[0].startswith("shared/tree.yml:8:")
    assert "needs a domain of kind payer" in lines[0]
