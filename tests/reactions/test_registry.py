"""Reactions are registered by the kinds of their source and target, and loaded when an environment declares one."""

import sys
from pathlib import Path

import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.kit.registry import NameTaken, UnknownName
from clerkship.model.environment import Reaction
from clerkship.reactions.contract import BrokenReactions, ReactionPair
from clerkship.reactions.registry import PAIRS, ReactionRegistry

KINDS = {"drop": "files", "archive": "files", "lab": "hl7", "ehr": "fhir"}


def parse_reactions(*written: str) -> list[Reaction]:
    """Parse reactions as an environment has them."""
    return [Reaction.model_validate(each) for each in written]


def write_pair(folder: Path, name: str, source: str) -> ReactionPair:
    """Write the module of a pair to a folder on the import path."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return ReactionPair(source="hl7", target="chat", module=name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("registered", PAIRS, ids=lambda each: each.name)
def test_pairs_react_only_to_events_of_their_source(registered: ReactionPair) -> None:
    catalog = build_catalog_without_plugins()
    catalog.component(registered.target)
    assert set(registered.load()) <= set(catalog.event_kinds(registered.source))


def test_reactions_are_bound_in_environment_order() -> None:
    bound = ReactionRegistry().bind(
        parse_reactions("drop.file.written -> archive", "lab.oru.sent -> ehr", "drop.file.* -> ehr2"),
        {**KINDS, "ehr2": "files"},
    )
    assert [each.target for each in bound["drop", "files.file.written"]] == ["archive", "ehr2"]
    assert [each.target for each in bound["drop", "files.file.deleted"]] == ["ehr2"]
    assert [each.target for each in bound["lab", "hl7.oru.sent"]] == ["ehr"]
    assert ("drop", "files.file.read") not in bound
    assert ("lab", "hl7.oru.arrived") not in bound


def test_unused_pair_is_not_imported(folder: Path) -> None:
    registry = ReactionRegistry([*PAIRS, write_pair(folder, "never_imported", "1 / 0")])
    registry.bind(parse_reactions("drop.file.written -> archive"), KINDS)
    assert "never_imported" not in sys.modules


def test_reaction_without_pair_is_an_error() -> None:
    with pytest.raises(UnknownName, match="unknown reaction `fhir to files`"):
        ReactionRegistry().bind(parse_reactions("ehr.resource.created -> drop"), KINDS)


def test_duplicate_pair_is_an_error() -> None:
    with pytest.raises(NameTaken, match=f"two reactions are called `{PAIRS[0].name}`"):
        ReactionRegistry([*PAIRS, PAIRS[0]])


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("pair_raises", "1 / 0", "ZeroDivisionError: division by zero"),
        ("pair_exits", "raise SystemExit(3)", "SystemExit: 3"),
        ("pair_empty", "", "has no attribute 'REACTIONS'"),
        ("pair_wrong", "REACTIONS = 5", "REACTIONS is not a mapping of event kinds to functions"),
        ("pair_uncallable", "REACTIONS = {'hl7.adt.sent': 5}", "REACTIONS is not a mapping of event kinds"),
        ("pair_foreign", "REACTIONS = {'files.file.read': print}", "`files.file.read` is not an event of hl7"),
    ],
)
def test_broken_pair_error_has_reason(folder: Path, name: str, source: str, message: str) -> None:
    broken = write_pair(folder, name, source)
    with pytest.raises(
        BrokenReactions, match=f"the reactions of chat to hl7 cannot be loaded from {name}: .*{message}"
    ):
        broken.load()


def test_broken_pair_is_left_out_of_events_for(folder: Path) -> None:
    other = ReactionPair(source="files", target="chat", module="clerkship.reactions.files_to_files")
    registry = ReactionRegistry([write_pair(folder, "pair_broken", "1 / 0"), other])
    assert registry.events_for("chat") == list(other.load())


def test_output_of_pair_module_goes_to_stderr(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pair(folder, "pair_prints", "print('hello')\nREACTIONS = {}").load()
    assert capsys.readouterr() == ("", "hello\n")
