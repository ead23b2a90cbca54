"""A calibration on the terminal: how far the judge agrees, and where it does not."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clerkship.cli.progress import Gauge
from clerkship.cli.verdicts import interval_cells, print_beside, print_indented, print_reliance
from clerkship.kit.statistics import wilson
from clerkship.model.calibration import Agreement
from clerkship.report.calibration import count, kappa_of
from clerkship.report.costs import render_used
from clerkship.service.calibrating import Calibrated, Judgement

MOST_SHOWN = 50


class LabelProgress(Gauge):
    """Told of each label as it is judged; a bar on a terminal, nothing elsewhere: one line says it all in the end."""

    def __init__(self, console: Console, total: int, *, quiet: bool = False) -> None:
        self._found = Agreement()
        super().__init__(console, total, quiet=quiet)

    def going(self) -> str:
        """How many agree with people so far."""
        found = self._found
        if not found.judged and not found.errors:
            return "asking"
        return f"[pass]agreed {found.agreed}[/]  [fail]not {found.judged - found.agreed}[/]  errors {found.errors}"

    def __call__(self, one: Judgement) -> None:
        """One label has its verdict, or none."""
        self._found += one.agreement
        self.advance()


def print_calibrated(console: Console, found: Calibrated) -> None:
    """The table, the disagreements, what could not be judged, and what it took."""
    calibration = found.calibration
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for title in ("agreed", "rate", "95 % interval", "κ", "false\npass", "false\nfail", "error"):
        table.add_column(title, justify="right", no_wrap=True, vertical="top")
    table.add_column("criterion", overflow="fold")
    for name, agreement in calibration.criteria.items():
        table.add_row(*_row(agreement), escape(name))
    if len(calibration.criteria) > 1:
        table.add_row(*_row(calibration.overall), "[bold]all[/]")
    console.print()
    console.print(table)
    wrong = found.disagreements()
    for one in wrong[:MOST_SHOWN]:
        _print_disagreement(console, one)
    if len(wrong) > MOST_SHOWN:
        console.print(f"\n[quiet]… and {len(wrong) - MOST_SHOWN} more disagreements: --json has them all[/]")
    for one in found.unjudged()[:MOST_SHOWN]:
        console.print()
        console.print(f"[errored]! not judged[/]  [bold]{escape(one.conversation)}[/]")
        print_indented(console, 4, escape(one.label.criterion))
        print_indented(console, 4, f"[quiet]{escape(one.found.detail)}[/]")
    console.print()
    console.print(_sum(found), soft_wrap=not console.is_terminal)
    used = render_used(found.used, calibration.overall.judged)
    if used:
        console.print(f"[quiet]{escape(used)}[/]", soft_wrap=not console.is_terminal)


def _row(found: Agreement) -> tuple[str, ...]:
    value = kappa_of(found)
    style = "pass" if found.agreed == found.judged > 0 else "partial"
    return (
        f"[{style}]{found.agreed}/{found.judged}[/]",
        *interval_cells(wilson(found.agreed, found.judged)),
        f"{value:.2f}" if value is not None else "[quiet]one label[/]" if found.judged else "",
        f"[fail]{found.false_passes}[/]" if found.false_passes else "0",
        f"[fail]{found.false_fails}[/]" if found.false_fails else "0",
        f"[errored]{found.errors}[/]" if found.errors else "0",
    )


def _print_disagreement(console: Console, one: Judgement) -> None:
    sort = "false pass" if one.agreement.false_passes else "false fail"
    note = f": {escape(one.label.note)}" if one.label.note else ""
    console.print()
    console.print(f"[fail]✗ {sort}[/]  [bold]{escape(one.conversation)}[/]")
    print_indented(console, 4, escape(one.label.criterion))
    print_beside(console, 4, "person ", f"{'pass' if one.label.passed else 'fail'}{note}")
    print_beside(console, 4, "judge  ", f"{'pass' if one.found.passed else 'fail'}: {escape(one.found.detail)}")
    print_reliance(console, one.found, indent=12)


def _sum(found: Calibrated) -> str:
    overall = found.calibration.overall
    value = kappa_of(overall)
    told = "one label only, so no κ" if value is None else f"κ {value:.2f}"
    wrong = f"{count(overall.false_passes, 'false pass', 'false passes')}, {count(overall.false_fails, 'false fail')}"
    errors = f"   [errored]{overall.errors} not judged[/]" if overall.errors else ""
    judge = found.calibration.judge
    how = f"[quiet]prompt {judge.prompt}{f', {judge.votes} votes' if judge.votes > 1 else ''}[/]"
    return f"agreed with people in {overall.agreed} of {overall.judged} labels   {told}   {wrong}{errors}   {how}"
