"""Properties of phone trees: any tree and any caller, in any order of events."""

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.formats.phone_tree.machine import IvrMachine
from clerkship.formats.phone_tree.nodes import UncheckedTree
from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.formats.phone_tree.session import (
    Action,
    DigitsPressed,
    HangUp,
    IvrSession,
    RunHook,
    Speak,
    StepResult,
    Stimulus,
    TransferCall,
)
from clerkship.formats.phone_tree.step_draft import MAX_TYPED_AHEAD
from clerkship.formats.phone_tree.tree import IvrTree
from clerkship.formats.phone_tree.tree_check import find_tree_problems
from tests.formats.phone_tree.calls import TreeCall
from tests.formats.phone_tree.random_trees import STIMULI, draw_trees

MAX_STEPS = 2_000
CALLERS = st.lists(STIMULI, max_size=25)


def check_result(result: StepResult, tree: IvrTree) -> None:
    """Check what holds after every step."""
    session = result.session
    assert isinstance(session, IvrSession)
    assert session.node in tree.nodes
    assert len(session.digits) <= MAX_TYPED_AHEAD
    assert IvrSession.model_validate_json(session.model_dump_json()) == session
    assert not any(isinstance(action, RunHook | TransferCall | HangUp) for action in result.actions[:-1])
    last = result.actions[-1] if result.actions else None
    assert isinstance(last, TransferCall | HangUp) <= (session.phase == "ended")
    assert isinstance(last, RunHook) <= (session.phase == "waiting")
    spoken = [action for action in result.actions if isinstance(action, Speak)]
    assert len(spoken) <= 1
    if spoken and not spoken[0].is_music:
        assert result.timer_seconds == measure_speech(spoken[0].text)
    if session.phase in ("ended", "waiting"):
        assert result.timer_seconds is None
    elif session.phase != "listening":
        assert result.timer_seconds is not None


def take_call(tree: IvrTree, stimuli: list[Stimulus]) -> list[Action]:
    """Return what the line does in a call in which these things happen, half a second apart."""
    call = TreeCall(tree)
    check_result(call.result, tree)
    for stimulus in stimuli:
        call.pass_time(0.5)
        call.step(stimulus)
        check_result(call.result, tree)
    return call.actions


@settings(deadline=None, derandomize=True)
@given(draw_trees(), CALLERS)
def test_any_events_in_any_order_are_handled_alike_each_time(tree: IvrTree, stimuli: list[Stimulus]) -> None:
    assert take_call(tree, stimuli) == take_call(tree, stimuli)


def finish_call(call: TreeCall, tree: IvrTree, outcomes: list[str], keys: str = "") -> None:
    """Go on until the call ends; press keys whenever the line listens."""
    for step in range(MAX_STEPS):
        phase, before = call.session.phase, call.now
        if phase == "ended":
            return
        if phase == "waiting":
            call.return_hook(outcomes[step % len(outcomes)])
        elif phase == "listening" and keys:
            call.press(keys)
        else:
            call.fire()
            assert call.now > before, "a timer of no seconds could go on for ever without time passing"
        check_result(call.result, tree)
    raise AssertionError(f"the call has not ended after {MAX_STEPS} steps")


@settings(deadline=None, derandomize=True)
@given(draw_trees(), st.lists(st.sampled_from(["found", "not_found"]), min_size=1, max_size=5))
def test_call_of_a_silent_caller_ends(tree: IvrTree, outcomes: list[str]) -> None:
    finish_call(TreeCall(tree), tree, outcomes)


@settings(deadline=None, derandomize=True)
@given(draw_trees(), st.lists(st.sampled_from(["found", "not_found"]), min_size=1, max_size=5))
def test_call_of_a_caller_who_presses_keys_that_no_node_has_ends(tree: IvrTree, outcomes: list[str]) -> None:
    keys = set("0123456789#") - {
        choice.key for node in tree.nodes.values() for choice in getattr(node, "choices", ()) if choice.key is not None
    }
    if keys:
        finish_call(TreeCall(tree), tree, outcomes, keys=min(keys))


@settings(deadline=None, derandomize=True)
@given(draw_trees(), CALLERS, draw_trees(), CALLERS)
def test_tree_that_is_replaced_during_a_call_raises_no_error(
    tree: IvrTree, before: list[Stimulus], other: IvrTree, after: list[Stimulus]
) -> None:
    call = TreeCall(tree)
    for stimulus in before:
        call.step(stimulus)
    call.far_end = IvrMachine(other, {})
    for stimulus in [*after, DigitsPressed("1")]:
        call.step(stimulus)
        assert len(call.session.digits) <= MAX_TYPED_AHEAD


@settings(deadline=None, derandomize=True)
@given(draw_trees())
def test_tree_survives_json(tree: IvrTree) -> None:
    assert IvrTree.model_validate_json(tree.model_dump_json()) == tree


@settings(deadline=None, derandomize=True)
@given(draw_trees(), st.data())
def test_tree_without_one_of_its_nodes_has_a_mistake(tree: IvrTree, data: st.DataObject) -> None:
    removed = data.draw(st.sampled_from(sorted(tree.nodes)))
    nodes = {name: node for name, node in tree.nodes.items() if name != removed}
    problems = find_tree_problems(UncheckedTree.model_construct(**{**dict(tree), "nodes": nodes}))
    assert any(problem.message.startswith(f"there is no node `{removed}`") for problem in problems)
