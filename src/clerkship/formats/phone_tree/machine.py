"""A phone tree: what the line does next, from what the caller did."""

from collections.abc import Mapping

from clerkship.formats.phone_tree.machine_input import (
    ask,
    give_up_waiting,
    is_giving_up,
    start_listening,
    use_digits,
    use_speech,
)
from clerkship.formats.phone_tree.machine_queue import enter_queue, step_queue
from clerkship.formats.phone_tree.nodes import (
    BranchNode,
    CollectNode,
    EndNode,
    HookNode,
    HoursNode,
    IvrNode,
    MenuNode,
    NodeName,
    QueueNode,
    SayNode,
    TransferNode,
    VoicemailNode,
)
from clerkship.formats.phone_tree.prompts import render_prompt
from clerkship.formats.phone_tree.recorder import END_REASON, start_recording, step_recording
from clerkship.formats.phone_tree.session import (
    Beep,
    DigitsPressed,
    EnterNode,
    HangUp,
    HookReturned,
    IvrSession,
    RunHook,
    SpeechEnded,
    SpeechStarted,
    StepContext,
    StepResult,
    Stimulus,
    TimerFired,
    TransferCall,
    VerifyIdentity,
)
from clerkship.formats.phone_tree.step_draft import IvrDraft
from clerkship.formats.phone_tree.tree import IvrTree

MEMBER_ID = "member_id"
"""A hook that returns a value of this name has found the member, so the caller may get information about them."""


class IvrMachine:
    """A phone tree that answers calls. It keeps nothing of a call: that is in the session."""

    def __init__(self, tree: IvrTree, values: Mapping[str, str]) -> None:
        self.tree = tree
        self._values = {**tree.values, **values}

    def start(self, context: StepContext) -> StepResult:
        """Answer a call: enter the start node."""
        draft = IvrDraft(IvrSession(node=self.tree.start, phase="speaking"), context, self._values)
        return self._follow(draft, self.tree.start)

    def step(self, session: IvrSession, stimulus: Stimulus, context: StepContext) -> StepResult:
        """Return what the line does next.

        A node that the tree does not have, because the tree was replaced during the call, ends the call.
        """
        draft = IvrDraft(session, context, self._values)
        if session.phase == "ended":
            return draft.to_result()
        node = self.tree.nodes.get(session.node)
        if node is None:
            draft.hang_up(f"the phone tree has no node {session.node}")
            return draft.to_result()
        return self._follow(draft, _react(draft, node, stimulus))

    def is_interruptible(self, session: IvrSession) -> bool:
        """Whether a prompt plays that digits or speech stop."""
        node = self.tree.nodes.get(session.node)
        return session.phase == "speaking" and node is not None and _is_interruptible(node, session)

    def _follow(self, draft: IvrDraft, target: NodeName | None) -> StepResult:
        """Enter nodes until one speaks or waits.

        More nodes than the tree has would be a loop, which `tree_check` rejects; digits typed ahead may pass more.
        """
        limit = len(self.tree.nodes) + len(draft.session.digits)
        while target is not None:
            node = self.tree.nodes.get(target)
            if node is None or limit < 0:
                reason = f"the phone tree has no node {target}" if node is None else "the phone tree does not stop"
                draft.hang_up(reason)
                break
            limit -= 1
            draft.actions.append(EnterNode(target))
            draft.change(node=target, phase="listening", attempts=0, entry="", prompts=(), due=None)
            target = _enter(draft, node)
        return draft.to_result()


def _enter(draft: IvrDraft, node: IvrNode) -> NodeName | None:
    """Begin with a node. Return the next one if this one neither speaks nor waits."""
    match node:
        case MenuNode() | CollectNode():
            return ask(draft, node)
        case SayNode():
            has_input = node.interruptible and (draft.session.digits or draft.speech)
            return node.next if has_input or not draft.speak(draft.render(node.prompt)) else None
        case HookNode():
            return _enter_hook(draft, node)
        case BranchNode():
            return node.cases.get(draft.get_values().get(node.variable, ""), node.otherwise)
        case HoursNode():
            return node.opened if node.is_open(draft.context.now) else node.closed
        case QueueNode():
            enter_queue(draft, node)
            return None
        case _:
            return None if draft.speak(draft.render(node.prompt)) else _go_on(draft, node)


def _enter_hook(draft: IvrDraft, node: HookNode) -> NodeName | None:
    name = draft.session.node
    visits = draft.session.visits.get(name, 0)
    if node.max_visits is not None:
        if visits >= node.max_visits and node.exhausted is not None:
            return node.exhausted
        draft.change(visits={**draft.session.visits, name: visits + 1})
    return None if draft.speak(draft.render(node.prompt)) else _go_on(draft, node)


def _react(draft: IvrDraft, node: IvrNode, stimulus: Stimulus) -> NodeName | None:
    """Return the next node, if what happened leads to one."""
    match draft.session.phase:
        case "speaking":
            return _react_while_speaking(draft, node, stimulus)
        case "listening":
            return _react_while_listening(draft, node, stimulus)
        case "on_hold" if isinstance(node, QueueNode):
            return step_queue(draft, node, stimulus)
        case "recording":
            draft.session = step_recording(draft.session, stimulus, draft.context.now)
            if draft.session.phase == "ended":
                draft.actions.append(HangUp(END_REASON))
        case "waiting" if isinstance(stimulus, DigitsPressed):
            draft.keep_digits(stimulus.digits)
        case "waiting" if isinstance(stimulus, HookReturned) and isinstance(node, HookNode):
            return _use_outcome(draft, node, stimulus)
        case _:
            pass
    return None


def _react_while_speaking(draft: IvrDraft, node: IvrNode, stimulus: Stimulus) -> NodeName | None:
    is_interruptible = _is_interruptible(node, draft.session)
    match stimulus:
        case TimerFired():
            return None if draft.speak(*draft.session.prompts) else _go_on(draft, node)
        case DigitsPressed(digits):
            draft.keep_digits(digits)
            if is_interruptible and draft.session.digits:
                draft.stop_speaking()
                return _go_on(draft, node)
        case SpeechStarted() if is_interruptible:
            draft.stop_speaking()
        case SpeechEnded(text) if is_interruptible:
            draft.stop_speaking()
            return _use_speech(draft, node, text)
        case _:
            pass
    return None


def _react_while_listening(draft: IvrDraft, node: IvrNode, stimulus: Stimulus) -> NodeName | None:
    match stimulus:
        case TimerFired() if isinstance(node, MenuNode | CollectNode):
            return give_up_waiting(draft, node)
        case DigitsPressed(digits):
            draft.keep_digits(digits)
            if not draft.session.digits:
                return None
            return use_digits(draft, node) if isinstance(node, MenuNode | CollectNode) else _go_on(draft, node)
        case SpeechStarted():
            draft.listen(None)
        case SpeechEnded(text):
            return _use_speech(draft, node, text)
        case _:
            pass
    return None


def _use_speech(draft: IvrDraft, node: IvrNode, text: str) -> NodeName | None:
    """Use what the caller said, here or, after a prompt without a question, at the next input node."""
    if isinstance(node, MenuNode | CollectNode):
        return use_speech(draft, node, text)
    draft.speech = text
    return _go_on(draft, node)


def _use_outcome(draft: IvrDraft, node: HookNode, result: HookReturned) -> NodeName | None:
    draft.change(values={**draft.session.values, **result.values})
    member_id = result.values.get(MEMBER_ID)
    if member_id:
        draft.actions.append(VerifyIdentity(member_id))
    target = node.outcomes.get(result.outcome)
    if target is None:
        draft.hang_up(f"node {draft.session.node} has no outcome {result.outcome}")
    return target


def _go_on(draft: IvrDraft, node: IvrNode) -> NodeName | None:
    """Go on when the prompt of a node is over, or was interrupted."""
    match node:
        case MenuNode() | CollectNode():
            return start_listening(draft, node)
        case SayNode():
            return node.next
        case HookNode():
            values = draft.get_values()
            arguments = {name: render_prompt(text, values) for name, text in node.arguments.items()}
            draft.actions.append(RunHook(draft.session.node, node.hook, {**values, **arguments}))
            draft.change(phase="waiting", due=None)
        case TransferNode():
            draft.actions.append(TransferCall(node.representative, node.number))
            draft.end()
        case VoicemailNode():
            draft.actions.append(Beep(node.mailbox))
            draft.change(digits="")
            draft.session = start_recording(draft.session, node.max_length.total_seconds(), draft.context.now)
        case EndNode():
            draft.hang_up("end of the phone tree")
        case _:
            pass
    return None


def _is_interruptible(node: IvrNode, session: IvrSession) -> bool:
    match node:
        case MenuNode() | CollectNode():
            return node.interruptible and not is_giving_up(node, session)
        case SayNode():
            return node.interruptible
        case _:
            return False
