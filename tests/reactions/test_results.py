"""The operation that emitted an event can read the results of the reactions to it."""

import pytest

from clerkship.events.event import Event
from clerkship.events.states import NoSuchState
from clerkship.formats.hl7.message import parse_message
from clerkship.model.environment import Environment
from clerkship.playground.playground import Playground, PlaygroundOptions, SavedLog
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.reactions.registry import BoundReaction
from clerkship.sandbox.state import ActionContext, ReactionResult
from clerkship.simulators import files
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.hl7.state import FiledMessage, Hl7State
from tests.reactions.hl7_to_fhir.clinic import PID, Clinic, build_msh


def send(clinic: Clinic, pid: str, trigger: str = "A01", id: str = "1") -> tuple[ActionContext, Event]:
    """Send a message as the HL7 simulator's operation does; return its context and the event that it emitted."""
    state = clinic.playground.sandboxes["lab"].state
    assert isinstance(state, Hl7State)
    segments = [build_msh(f"ADT^{trigger}^ADT_A01", id), "EVN||20260302085500", pid, "PV1|1|I|||||||||||||||||V-1"]
    action = clinic.playground.context_for("lab", "agent")
    state.receive(action, parse_message("\r".join(segments)))
    [event] = [each for each in clinic.playground.log.events if each.kind == "hl7.adt.sent"][-1:]
    return action, event


def test_result_lists_filed_resources() -> None:
    clinic = Clinic()
    action, event = send(clinic, PID)
    [filed] = action.results(event, FiledMessage)
    [encounter] = [key for key in filed.keys if key != "Patient/ana"]
    assert clinic.get(encounter)["identifier"][0]["value"] == "V-1"
    assert action.reactions_to(event) == [ReactionResult("ehr", filed)]
    assert action.reaction_refusals(event) == []


def test_message_without_changes_has_empty_result() -> None:
    clinic = Clinic()
    send(clinic, PID)
    action, event = send(clinic, PID, id="2")
    assert action.results(event, FiledMessage) == [FiledMessage(())]


def test_refused_reaction_gives_objection_and_no_result() -> None:
    action, event = send(Clinic(), PID.replace("4711", "99"), "A08")
    [result] = action.reactions_to(event)
    assert (result.target, result.result) == ("ehr", None)
    assert result.refusal is not None
    assert result.refusal.status == 404
    assert action.reaction_refusals(event) == [result.refusal]
    assert action.results(event, FiledMessage) == []


def open_playground(*reactions: str) -> Playground:
    """A playground of three file drops, one of which takes only small files."""
    environment = Environment.model_validate(
        {"name": "x", "simulators": {name: {"kind": "files"} for name in "abc"}, "reactions": reactions}
    )
    limits = {"a": 100, "b": 3, "c": 100}
    rooms = {name: PreparedSimulator(files.SPEC, FilesConfig(max_file=limits[name])) for name in "abc"}
    return Playground(environment, rooms, "x")


def write(playground: Playground, data: bytes) -> tuple[ActionContext, Event]:
    """Write a file to the first drop; return the context and the event."""
    state, action = playground.sandboxes["a"].state, playground.context_for("a", "agent")
    assert isinstance(state, FilesState)
    state.write(action, "a.txt", data)
    return action, next(event for event in playground.log.events if event.source == "a")


def test_results_are_in_environment_order() -> None:
    action, event = write(open_playground("a.file -> c", "a.file -> b"), b"too large for b")
    results = action.reactions_to(event)
    assert [(each.target, each.refusal is None) for each in results] == [("c", True), ("b", False)]


def test_event_without_reactions_has_no_results() -> None:
    for reactions in ([], ["a.file.deleted -> b"]):
        action, event = write(open_playground(*reactions), b"x")
        assert list(action.reactions_to(event)) == []
        assert action.reaction_refusals(event) == []


def test_rewind_clears_results() -> None:
    playground = open_playground("a.file -> b")
    action, event = write(playground, b"x")
    assert action.reactions_to(event) == [ReactionResult("b")]
    playground.rewind(SavedLog())
    assert list(playground.context_for("a", "agent").reactions_to(event)) == []


def test_reaction_reads_the_state_of_its_source() -> None:
    contents: list[bytes] = []

    def read_source(state: FilesState, action: ActionContext, event: Event) -> None:
        source = action.source(FilesState)
        assert source is not state
        contents.append(source.records["a.txt"])
        with pytest.raises(NoSuchState, match="not a reaction to an event of a Hl7State"):
            action.source(Hl7State)

    playground = open_playground()
    bound = {("a", "files.file.written"): [BoundReaction("b", read_source)]}
    reacting = Playground(
        playground.environment,
        {name: sandbox.prepared for name, sandbox in playground.sandboxes.items()},
        "x",
        PlaygroundOptions(reactions=bound),
    )
    action, _ = write(reacting, b"abc")
    assert contents == [b"abc"]
    with pytest.raises(NoSuchState, match="not a reaction"):
        action.source(FilesState)
