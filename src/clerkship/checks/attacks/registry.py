"""All strategies, in the order in which they are run and shown."""

from clerkship.checks.attacks.be_polite import BePolite
from clerkship.checks.attacks.contract import AttackStrategy
from clerkship.checks.attacks.crash_after import CrashAfter
from clerkship.checks.attacks.delete_everything import DeleteEverything
from clerkship.checks.attacks.do_nothing import DoNothing
from clerkship.checks.attacks.harm_inside import HarmAmount, HarmInstruction, HarmNote
from clerkship.checks.attacks.harm_undone import HarmUndone
from clerkship.checks.attacks.order_everything import OrderEverything
from clerkship.checks.attacks.read_only import ReadOnly
from clerkship.checks.attacks.report_everything import ReportEverything

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
