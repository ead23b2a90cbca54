"""All strategies, in the order in which they are run and shown."""

from clerkship.attacks.be_polite import BePolite
from clerkship.attacks.contract import AttackStrategy
from clerkship.attacks.crash_after import CrashAfter
from clerkship.attacks.delete_everything import DeleteEverything
from clerkship.attacks.do_nothing import DoNothing
from clerkship.attacks.harm_inside import HarmAmount, HarmInstruction, HarmNote
from clerkship.attacks.harm_undone import HarmUndone
from clerkship.attacks.order_everything import OrderEverything
from clerkship.attacks.read_only import ReadOnly
from clerkship.attacks.report_everything import ReportEverything

STRATEGIES: tuple[AttackStrategy, ...] = (
    DoNothing(),
    ReadOnly(),
    BePolite(),
    OrderEverything(),
    DeleteEverything(),
    ReportEverything(),
    HarmInstruction(),
    HarmAmount(),
    HarmNote(),
    HarmUndone(),
    CrashAfter(),
)
