"""Hold queues of a phone tree: announcements, music and a wait."""

from math import ceil

from clerkship.formats.phone_tree.grammar import match_choice
from clerkship.formats.phone_tree.nodes import NodeName, QueueNode
from clerkship.formats.phone_tree.prompts import measure_speech, render_prompt
from clerkship.formats.phone_tree.session import (
    DigitsPressed,
    EndHold,
    Speak,
    SpeechEnded,
    StartHold,
    Stimulus,
    StopSpeaking,
    TimerFired,
)
from clerkship.formats.phone_tree.step_draft import MIN_TIMER_SECONDS, IvrDraft

_STREAM = "ivr.queue"


def enter_queue(draft: IvrDraft, node: QueueNode) -> None:
    """Put the caller on hold. Digits typed ahead are lost: they were meant for a menu."""
    seconds = max(_draw_wait(draft, node), MIN_TIMER_SECONDS)
    draft.actions.append(StartHold(node.position))
    draft.change(phase="on_hold", digits="", position=node.position, wait_seconds=seconds, hold_seconds=seconds)
    _announce(draft, node)


def step_queue(draft: IvrDraft, node: QueueNode, stimulus: Stimulus) -> NodeName | None:
    """Go on with the wait. Return the next node when it is over, or when the caller leaves the queue."""
    match stimulus:
        case TimerFired():
            return _continue_waiting(draft, node)
        case DigitsPressed(digits):
            for index, key in enumerate(digits):
                for choice in node.choices:
                    if choice.key == key:
                        _end_hold(draft)
                        draft.keep_digits(digits[index + 1 :])
                        return choice.next
        case SpeechEnded(text):
            match = match_choice(node.choices, text)
            if match is not None:
                _end_hold(draft)
                return match.next
        case _:
            pass
    return None


def _draw_wait(draft: IvrDraft, node: QueueNode) -> float:
    shortest = node.wait.total_seconds()
    if node.wait_up_to is None:
        return shortest
    return round(draft.context.rng.stream(_STREAM).uniform(shortest, node.wait_up_to.total_seconds()), 2)


def _continue_waiting(draft: IvrDraft, node: QueueNode) -> NodeName | None:
    if draft.session.hold_seconds <= 0:
        _end_hold(draft)
        return node.next
    if draft.session.prompts:
        _play_music(draft, node, node.announce_every.total_seconds() - _measure_announcement(draft, node))
    else:
        _announce(draft, node)
    return None


def _announce(draft: IvrDraft, node: QueueNode) -> None:
    """Say the position; music instead if there is nothing to say, or no time for it."""
    left = draft.session.hold_seconds
    draft.change(position=_find_position(node, left / draft.session.wait_seconds))
    seconds = _measure_announcement(draft, node)
    if not 0 < seconds <= left:
        _play_music(draft, node, node.announce_every.total_seconds())
        return
    draft.actions.append(Speak(_render_announcement(draft, node)))
    draft.change(prompts=(node.music,))
    _wait(draft, seconds)


def _play_music(draft: IvrDraft, node: QueueNode, seconds: float) -> None:
    if node.music.strip():
        draft.actions.append(Speak(node.music, is_music=True))
    draft.change(prompts=())
    _wait(draft, max(min(seconds, draft.session.hold_seconds), MIN_TIMER_SECONDS))


def _wait(draft: IvrDraft, seconds: float) -> None:
    """Use some seconds of the wait."""
    draft.change(hold_seconds=round(max(draft.session.hold_seconds - seconds, 0.0), 6))
    draft.set_timer(seconds)


def _find_position(node: QueueNode, share: float) -> int:
    """Return the position when some share of the wait is left: it goes down evenly, to 1."""
    return min(max(ceil(node.position * share), 1), node.position)


def _render_announcement(draft: IvrDraft, node: QueueNode) -> str:
    return render_prompt(node.announcement, {**draft.get_values(), "position": str(draft.session.position)})


def _measure_announcement(draft: IvrDraft, node: QueueNode) -> float:
    return measure_speech(_render_announcement(draft, node))


def _end_hold(draft: IvrDraft) -> None:
    """Take the caller off hold, in the middle of an announcement if one plays."""
    if draft.session.prompts:
        draft.actions.append(StopSpeaking())
    draft.actions.append(EndHold())
    draft.change(prompts=(), position=0, wait_seconds=0.0, hold_seconds=0.0, due=None)
