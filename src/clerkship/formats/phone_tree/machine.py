"""A phone tree: what the line does next, from what the caller did. Then its menus and data entry."""

from collections.abc import Mapping
from datetime import date
from typing import Literal, NamedTuple

from clerkship.formats.phone_tree.grammar import is_no, is_yes, match_choice
from clerkship.formats.phone_tree.machine_queue import enter_queue, step_queue
from clerkship.formats.phone_tree.nodes import (
    BranchNode,
    Choice,
    CollectNode,
    EndNode,
    EntryFormat,
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
    CollectValue,
    DigitsPressed,
    EnterNode,
    HangUp,
    HookReturned,
    IvrSession,
    RejectInput,
    RejectionReason,
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
from clerkship.formats.phone_tree.spoken_entry import parse_entry
from clerkship.formats.phone_tree.step_draft import MIN_TIMER_SECONDS, IvrDraft
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
        session = IvrSession(node=self.tree.start, phase="speaking")
        draft = IvrDraft(session, context, self._values, operator=self.tree.operator)
        return self._follow(draft, self.tree.start)

    def step(self, session: IvrSession, stimulus: Stimulus, context: StepContext) -> StepResult:
        """Return what the line does next.

        A node that the tree does not have, because the tree was replaced during the call, ends the call.
        """
        draft = IvrDraft(session, context, self._values, operator=self.tree.operator)
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

    def get_listen_seconds(self, session: IvrSession) -> float | None:
        """Return how long the line listens after the prompt of a menu or data entry, unless digits wait to be used."""
        node = self.tree.nodes.get(session.node)
        if not isinstance(node, MenuNode | CollectNode) or session.prompts or session.digits:
            return None
        return None if is_giving_up(node, session) else max(node.timeout.total_seconds(), MIN_TIMER_SECONDS)

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


# Menus and data entry.

DATE_KEYS = 8
"""A date is keyed as MMDDYYYY."""
DECIMAL_KEY = "*"
"""The decimal point of an amount of money, after its first digit."""

EntryProgress = Literal["incomplete", "complete", "repeat"]


class KeyedEntry(NamedTuple):
    """How far an entry by keypad is."""

    progress: EntryProgress
    keys: str = ""
    """The keys of the entry, without the end key."""
    rest: str = ""
    """The keys after it."""


def read_keys(node: CollectNode, keys: str) -> KeyedEntry:
    """Return the entry at the beginning of the pressed keys.

    An entry is complete at the end key, when it has as many digits as fit, or at a key that is not part of an entry.
    """
    max_digits = DATE_KEYS if node.format == "date" else node.max_length
    digits = 0
    for index, key in enumerate(keys):
        rest = keys[index + 1 :]
        if key == node.end_key:
            return KeyedEntry("complete", keys[:index], rest)
        if key.isdigit():
            digits += 1
            if digits == max_digits:
                return KeyedEntry("complete", keys[: index + 1], _skip_end_key(node, rest))
        elif node.format == "money" and key == DECIMAL_KEY and digits:
            continue
        elif key == node.repeat_key:
            return KeyedEntry("repeat", rest=rest)
        else:
            return KeyedEntry("complete", keys[: index + 1], rest)
    return KeyedEntry("incomplete", keys)


def parse_keys(format: EntryFormat, keys: str) -> str | None:
    """Return the value of an entry by keypad; None if it is not valid. Letters cannot be entered by keypad."""
    if format == "money":
        return _parse_amount(keys)
    if not keys.isdigit():
        return None
    return _parse_date(keys) if format == "date" else keys


def has_valid_length(node: CollectNode, value: str) -> bool:
    """Whether a value is neither too short nor too long. Dates and amounts of money have no such limits."""
    if node.format in ("date", "money"):
        return True
    return node.min_length <= len(value) <= node.max_length


def _skip_end_key(node: CollectNode, rest: str) -> str:
    """Leave out an end key after an entry that was complete without it."""
    return rest[1:] if node.end_key is not None and rest.startswith(node.end_key) else rest


def _parse_date(keys: str) -> str | None:
    if len(keys) != DATE_KEYS:
        return None
    try:
        return date(int(keys[4:]), int(keys[:2]), int(keys[2:4])).isoformat()
    except ValueError:
        return None


def _parse_amount(keys: str) -> str | None:
    """Return dollars and cents. Without a decimal point, the last two digits are cents."""
    dollars, point, cents = keys.partition(DECIMAL_KEY)
    if not point:
        dollars, cents = keys[:-2], keys[-2:]
    dollars = dollars or "0"
    if not dollars.isdigit() or not cents.isdigit() or len(cents) != 2:
        return None
    return f"{int(dollars)}.{cents}"


InputStep = MenuNode | CollectNode
GOODBYE = "I'm sorry, I could not process your request. Please try again later. Goodbye."
MAX_REJECTED_TEXT = 500
"""Characters of what the caller said that a rejection quotes."""
MIN_CORRECTION = 4
"""Characters of an entry that corrects another one: "No, it is 4 7 1 2". Shorter ones may be the key of an answer."""
ENTRY = "entry"
"""The name of the entry in the sentence that reads it back."""
_YES, _NO, _REPEAT = "yes", "no", "repeat"
_ANSWERS = (Choice(key="1", next=_YES), Choice(key="2", next=_NO))
_OPERATOR_CHOICES = (
    Choice(
        speech=(
            *("operator", "representative", "agent", "live agent", "real person", "live person", "human", "attendant"),
            *("speak to someone", "speak with someone", "talk to someone", "talk to a person", "speak to a person"),
            *("customer service", "receptionist"),
        ),
        next="operator",
    ),
)
_REPEAT_CHOICES = (Choice(speech=("repeat", "say that again", "say it again"), next=_REPEAT),)
_CONFIRMATION = "You entered {entry%s}. If this is correct, press 1 or say yes. To enter it again, press 2 or say no."
_FILTERS: dict[EntryFormat, str] = {
    "digits": "|digits",
    "letters_and_digits": "|digits",
    "date": "|date",
    "money": "|money",
}


def is_giving_up(node: InputStep, session: IvrSession) -> bool:
    """Whether the line says goodbye after too many attempts."""
    return session.attempts >= node.max_attempts


def ask(draft: IvrDraft, node: InputStep) -> NodeName | None:
    """Say the prompt, or use what the caller entered ahead of it. Return the next node, if one follows already."""
    if node.interruptible and draft.session.digits:
        return use_digits(draft, node)
    if node.interruptible and draft.speech:
        text, draft.speech = draft.speech, ""
        if isinstance(node, MenuNode):
            choice = match_choice(node.choices, text)
            if choice is not None:
                return choice.next
        elif not draft.session.entry:
            value = _parse_valid_entry(node, text)
            if value is not None:
                return _take_entry(draft, node, value)
        if draft.operator is not None and match_choice(_OPERATOR_CHOICES, text) is not None:
            return draft.operator
    if draft.speak(_build_question(draft, node)):
        return None
    return start_listening(draft, node)


def start_listening(draft: IvrDraft, node: InputStep) -> NodeName | None:
    """Go on after the prompt: with digits that were typed ahead, or by waiting for the caller."""
    if is_giving_up(node, draft.session):
        draft.hang_up("too many attempts")
        return None
    if draft.session.digits:
        return use_digits(draft, node)
    draft.listen(node.timeout.total_seconds())
    return None


def use_digits(draft: IvrDraft, node: InputStep) -> NodeName | None:
    """Use the digits that the caller pressed. Return the next node, if they decide it."""
    if draft.session.entry and isinstance(node, CollectNode):
        return _use_answer_key(draft, node)
    return _use_choice_key(draft, node) if isinstance(node, MenuNode) else _use_entry_keys(draft, node)


def use_speech(draft: IvrDraft, node: InputStep, text: str) -> NodeName | None:
    """Use what the caller said. Return the next node, if it decides it."""
    draft.change(digits="")
    if isinstance(node, MenuNode):
        choice = match_choice(node.choices, text)
        if choice is not None:
            return choice.next
    elif draft.session.entry:
        answer, value = _match_answer(text), _parse_valid_entry(node, text)
        if value is not None and answer != _YES and value != draft.session.entry and len(value) >= MIN_CORRECTION:
            return _take_entry(draft, node, value)
        if answer is not None:
            return _answer(draft, node, is_right=answer == _YES)
    else:
        value = parse_entry(node.format, text)
        if value is not None and has_valid_length(node, value):
            return _take_entry(draft, node, value)
        if value is not None:
            return _reject(draft, node, "invalid", text)
    if draft.operator is not None and match_choice(_OPERATOR_CHOICES, text) is not None:
        return draft.operator
    if node.repeat_key is not None and match_choice(_REPEAT_CHOICES, text) is not None:
        return ask(draft, node)
    return _reject(draft, node, "no_match", text)


def give_up_waiting(draft: IvrDraft, node: InputStep) -> NodeName | None:
    """Go on after the caller did nothing more: with the digits so far, or with a rejection."""
    digits = draft.session.digits
    if digits and isinstance(node, CollectNode):
        draft.change(digits="")
        return _use_entry(draft, node, digits)
    return _reject(draft, node, "no_input")


def _use_choice_key(draft: IvrDraft, node: MenuNode) -> NodeName | None:
    key, rest = draft.session.digits[0], draft.session.digits[1:]
    draft.change(digits=rest)
    for choice in node.choices:
        if choice.key == key:
            return choice.next
    if key == node.repeat_key:
        return ask(draft, node)
    return _reject(draft, node, "no_match", key)


def _use_entry_keys(draft: IvrDraft, node: CollectNode) -> NodeName | None:
    keyed = read_keys(node, draft.session.digits)
    if keyed.progress == "incomplete":
        draft.listen(node.timeout.total_seconds())
        return None
    draft.change(digits=keyed.rest)
    if keyed.progress == "repeat":
        return ask(draft, node)
    return _use_entry(draft, node, keyed.keys)


def _use_entry(draft: IvrDraft, node: CollectNode, keys: str) -> NodeName | None:
    value = parse_keys(node.format, keys)
    if value is None or not has_valid_length(node, value):
        return _reject(draft, node, "invalid", keys)
    return _take_entry(draft, node, value)


def _parse_valid_entry(node: CollectNode, text: str) -> str | None:
    value = parse_entry(node.format, text)
    return value if value is not None and has_valid_length(node, value) else None


def _take_entry(draft: IvrDraft, node: CollectNode, value: str) -> NodeName | None:
    """Ask the caller to confirm a valid entry, or accept it."""
    if not node.confirm:
        return _accept(draft, node, value)
    draft.change(entry=value)
    return ask(draft, node)


def _use_answer_key(draft: IvrDraft, node: CollectNode) -> NodeName | None:
    key, rest = draft.session.digits[0], draft.session.digits[1:]
    draft.change(digits=rest)
    if key in "12":
        return _answer(draft, node, is_right=key == "1")
    if key in (node.repeat_key, node.end_key):
        return ask(draft, node)
    return _reject(draft, node, "no_match", key)


def _match_answer(text: str) -> str | None:
    if is_yes(text):
        return _YES
    if is_no(text):
        return _NO
    choice = match_choice(_ANSWERS, text)
    return None if choice is None else choice.next


def _answer(draft: IvrDraft, node: CollectNode, *, is_right: bool) -> NodeName | None:
    value = draft.session.entry
    draft.change(entry="")
    return _accept(draft, node, value) if is_right else ask(draft, node)


def _accept(draft: IvrDraft, node: CollectNode, value: str) -> NodeName:
    draft.actions.append(CollectValue(draft.session.node, node.variable, value))
    draft.change(values={**draft.session.values, node.variable: value})
    return node.next


def _reject(draft: IvrDraft, node: InputStep, reason: RejectionReason, text: str = "") -> NodeName | None:
    """Reject an entry: repeat the prompt, or give up after too many attempts. Digits typed ahead are lost."""
    attempt = draft.session.attempts + 1
    draft.actions.append(RejectInput(draft.session.node, reason, attempt, text[:MAX_REJECTED_TEXT]))
    draft.change(attempts=attempt, digits="")
    if attempt < node.max_attempts:
        apology = draft.render(node.no_input if reason == "no_input" else node.no_match)
        if draft.speak(apology, _build_question(draft, node)):
            return None
        return start_listening(draft, node)
    if node.failed is not None:
        return node.failed
    draft.speak(GOODBYE)
    return None


def _build_question(draft: IvrDraft, node: InputStep) -> str:
    """Return the prompt of a node, or the question whether an entry is right."""
    if draft.session.entry and isinstance(node, CollectNode):
        sentence = node.confirmation or _CONFIRMATION % _FILTERS[node.format]
        return render_prompt(sentence, {**draft.get_values(), ENTRY: draft.session.entry})
    return draft.render(node.prompt)
