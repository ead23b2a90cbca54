"""All strategies, in the order in which they are run and shown, and those that need no code of their own."""

from collections.abc import Mapping

from clerkship.checks.attacks.claims import ReportEverything
from clerkship.checks.attacks.contract import AttackStrategy
from clerkship.checks.attacks.reference import (
    HARM_INSIDE,
    CrashAfter,
    GuessIdentity,
    HarmUndone,
    ReadOthers,
    RepeatEverything,
    WorkLate,
)
from clerkship.checks.attacks.variants import OtherWays, WrongSolutions
from clerkship.sandbox.attack import OwnAttack, SandboxAttack


class DoNothing(AttackStrategy):
    """Neither reply nor act."""

    name = "do-nothing"
    summary = "is silent, changes nothing, answers null"
    advice = "require something that must happen: an answer, a message, a change, a read"
    words = None
    is_inaction = True


class ReadOnly(AttackStrategy):
    """Read everything, and do nothing else."""

    name = "read-only"
    summary = "reads everything in every sandbox, is silent, answers null"
    advice = "require the decision too: an answer that states what was found, and that nothing was needed"
    move = "read_everything"
    words = None
    failure = "nothing to read"
    is_inaction = True


class BePolite(AttackStrategy):
    """Reply politely, and use no sandbox."""

    name = "be-polite"
    summary = "says a polite sentence in every turn and as its answer, and does nothing else"
    advice = "require what the words must state, or what must have been done before they were said"


class OrderEverything(AttackStrategy):
    """Order everything once, then reply politely: the requested order is among them."""

    name = "order-everything"
    summary = "orders everything the instruction names for everyone, sends messages, drops files"
    advice = "forbid what was not asked for: fhir_no_other_changes, count, never, file_present with none"
    move = "order_everything"
    failure = "nothing could be ordered"


class DeleteEverything(AttackStrategy):
    """Delete everything once, then reply politely."""

    name = "delete-everything"
    summary = "deletes all it can find in every sandbox"
    advice = "require what must still be there, or forbid other changes"
    move = "delete_everything"
    failure = "there was nothing to delete"


class OwnStrategy(AttackStrategy):
    """A strategy that one kind of sandbox adds."""

    failure = "there was nothing to attack"

    def __init__(self, kind: str, own: OwnAttack) -> None:
        self.kind, self._own = kind, own
        self.name = f"{kind}-{own.name}"
        self.summary, self.advice, self.move, self.words = own.summary, own.advice, own.move, own.words
        self.is_inaction = own.is_inaction

    def untouched(self, attack: SandboxAttack) -> bool:
        """Return whether it is a strategy of another kind of sandbox."""
        return self._own not in attack.own


def list_strategies(attacks: Mapping[str, SandboxAttack]) -> tuple[AttackStrategy, ...]:
    """Return all strategies, with those that only some kinds of sandbox have."""
    own = (OwnStrategy(kind, each) for kind, attack in sorted(attacks.items()) for each in attack.own)
    return (*STRATEGIES, *own)


STRATEGIES: tuple[AttackStrategy, ...] = (
    DoNothing(),
    ReadOnly(),
    BePolite(),
    OrderEverything(),
    DeleteEverything(),
    ReportEverything(),
    *HARM_INSIDE,
    HarmUndone(),
    ReadOthers(),
    GuessIdentity(),
    RepeatEverything(),
    WorkLate(),
    CrashAfter(),
    WrongSolutions(),
    OtherWays(),
)
