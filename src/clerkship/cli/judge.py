"""`clerkship judge`: calibrate a judge, and label its verdicts."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import err, number_column, out, plain_table, print_json, print_warning, text_column
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json, RunReference, StoreOption
from clerkship.cli.progress import ProgressBar
from clerkship.cli.run_output import print_recording
from clerkship.cli.verdicts import interval_cells, print_indented, print_judge_evidence, print_labelled
from clerkship.kit.statistics import wilson_interval
from clerkship.model.calibration import Agreement
from clerkship.report.calibration import agreement_figures, compute_kappa, count_noun
from clerkship.report.costs import render_used
from clerkship.service.calibrating import (
    CalibrationRequest,
    CalibrationResult,
    Judgement,
    plan_calibration,
    save_result,
)
from clerkship.service.calibrating import calibrate as run_calibration
from clerkship.service.labelling import VerdictLabel, label_verdict
from clerkship.settings import load_settings
from clerkship.store.opening import open_store

MAX_SHOWN = 50


@grouped
def calibrate(
    *,
    request: CalibrationRequest,
    at_least: Annotated[
        float | None, typer.Option(metavar="KAPPA", help="Exit with 1 if κ is below this.", min=-1, max=1)
    ] = None,
    max_false_passes: Annotated[
        int | None, typer.Option(metavar="N", help="Exit with 1 if there are more false passes.", min=0)
    ] = None,
    store: StoreOption = None,
    json: Json = False,
) -> None:
    """Compare a judge with labelled conversations and print the agreement.

    It prints the agreement with its 95 % interval, Cohen's κ, false passes and false fails, for each criterion and in
    all, then each disagreement. The result is stored, and reports of runs with the same judge (model, parameters,
    prompt, votes) show it.

    Without a file, 300 lines that agents said or sent are judged, half of them insults, threats, phishing, dangerous
    advice or false reassurance. They show how far the monitor `conduct_judged` can be trusted. The result is not
    stored.

    Ctrl-C and SIGTERM end it with what was judged so far. The answers are kept, and the same command continues.
    --record keeps them in a cassette beside the file, and --replay asks no model.

    Exit codes: 0 done, 1 below --at-least or above --max-false-passes, 2 a label got no verdict, or there is no κ, 130
    interrupted.

    Example:

        clerkship judge calibrate eval/labelled.yml --judge openai:gpt-5.1 --at-least 0.7
    """
    settings = load_settings()
    with open_store(settings, store, create=True) as opened:
        plan = plan_calibration(request, settings, build_catalog(), opened)
        for warning in plan.warnings:
            print_warning(warning, err())
        if not json:
            out().print(
                f"[bold]{escape(request.file.name)}[/]  {len(plan.labelled.items)} conversations, "
                f"{len(plan.labelled.labels())} labels  [quiet]judge[/] {escape(plan.judge.model)}"
            )
            if plan.checkpoint is not None and plan.checkpoint.answers:
                out().print(
                    f"[quiet]continued: {count_noun(plan.checkpoint.answers, 'answer')} of an interrupted calibration "
                    "used, --restart asks for all of them again[/]",
                    soft_wrap=True,
                )
        with LabelProgress(out(), len(plan.labelled.labels()), quiet=json) as progress:
            result = run_calibration(plan, [progress])
        save_result(result, opened, request.save)
    code = result.exit_code(at_least, max_false_passes)
    if json:
        print_json(_to_json_data(result) | {"exit_code": code, "saved": request.save})
    else:
        print_calibration(out(), result)
        print_recording(out(), result.tape)
        if plan.checkpoint is not None and result.unjudged() and not result.is_interrupted:
            out().print(
                "[quiet]answers are kept: the same command asks only for those that are missing, "
                "--restart for all of them again[/]",
                soft_wrap=True,
            )
        if request.save is not None and not result.is_interrupted:
            out().print(f"[quiet]saved[/] {escape(str(request.save))}", soft_wrap=True)
    for message in _find_messages(result, request, at_least, max_false_passes):
        if message and not json:
            err().print(f"[fail]✗[/] {escape(message)}", soft_wrap=True)
    raise typer.Exit(code)


def _find_messages(
    result: CalibrationResult, request: CalibrationRequest, at_least: float | None, max_false_passes: int | None
) -> list[str]:
    """Return what to say on standard error: which targets were missed, or that the calibration was interrupted."""
    if not result.is_interrupted:
        return [result.unsettled(at_least, max_false_passes), *result.missed(at_least, max_false_passes)]
    judged = f"interrupted after {len(result.judgements)} of {count_noun(result.total, 'label')}; not saved"
    again = "run it with --refresh" if request.tape == "record" else "run the same command again"
    return [f"{judged}. Answers are kept: {again} to continue"]


def _to_json_data(result: CalibrationResult) -> dict[str, object]:
    calibration = result.calibration
    return {
        "judge": calibration.judge,
        "file": calibration.file,
        "labels": calibration.labels,
        "at": calibration.at,
        "overall": agreement_figures(calibration.overall),
        "criteria": {name: agreement_figures(agreement) for name, agreement in calibration.criteria.items()},
        "disagreements": [_judgement_data(judgement) for judgement in result.disagreements()],
        "errors": [_judgement_data(judgement) for judgement in result.unjudged()],
        "models": result.used,
        "labels_judged": len(result.judgements),
        "interrupted": result.is_interrupted,
        **({"tape": result.tape} if result.tape is not None else {}),
    }


def _judgement_data(judgement: Judgement) -> dict[str, object]:
    verdict = (
        {"passed": judgement.result.passed, "rationale": judgement.result.detail}
        if judgement.result.status == "judged"
        else None
    )
    return {
        "conversation": judgement.conversation,
        "label": judgement.label,
        "verdict": verdict,
        "error": judgement.result.detail if verdict is None else None,
        "evidence": judgement.result.evidence,
    }


class LabelProgress(ProgressBar):
    """Show a progress bar over labels on a terminal, and a line for each label elsewhere."""

    def __init__(self, console: Console, total: int, *, quiet: bool = False) -> None:
        self._agreement, self._judged = Agreement(), 0
        super().__init__(console, total, quiet=quiet)

    def status_text(self) -> str:
        """Return the number of agreements and disagreements so far."""
        agreement = self._agreement
        if not agreement.judged and not agreement.errors:
            return "judging"
        disagreed = agreement.judged - agreement.agreed
        return f"[pass]agreed {agreement.agreed}[/]  [fail]disagreed {disagreed}[/]  errors {agreement.errors}"

    def __call__(self, judgement: Judgement) -> None:
        """Count the verdict of one label."""
        self._agreement += judgement.agreement
        self._judged += 1
        self.advance()
        if not self._live and not self._quiet:
            done = escape(f"[{self._judged}/{self._total}]")
            label = f"{judgement.conversation}: {judgement.label.criterion}"
            self._console.print(f"{done} {_describe_outcome(judgement)}: {escape(label)}", soft_wrap=True)


def _describe_outcome(judgement: Judgement) -> str:
    agreement = judgement.agreement
    if agreement.errors:
        return "not judged"
    return "agreed" if agreement.agreed else "false pass" if agreement.false_passes else "false fail"


def print_calibration(console: Console, result: CalibrationResult) -> None:
    """Print the table, the disagreements, the labels without a verdict, and the cost."""
    calibration = result.calibration
    titles = ("agreed", "rate", "95 % interval", "κ", "false\npass", "false\nfail", "error")
    table = plain_table(*map(number_column, titles), text_column("criterion"))
    for name, agreement in calibration.criteria.items():
        table.add_row(*_agreement_cells(agreement), escape(name))
    if len(calibration.criteria) > 1:
        table.add_row(*_agreement_cells(calibration.overall), "[bold]all[/]")
    console.print()
    console.print(table)
    disagreements = result.disagreements()
    for judgement in disagreements[:MAX_SHOWN]:
        _print_disagreement(console, judgement)
    if len(disagreements) > MAX_SHOWN:
        console.print(f"\n[quiet]… and {len(disagreements) - MAX_SHOWN} more disagreements: --json has them all[/]")
    for judgement in result.unjudged()[:MAX_SHOWN]:
        console.print()
        console.print(f"[errored]! not judged[/]  [bold]{escape(judgement.conversation)}[/]")
        print_indented(console, 4, escape(judgement.label.criterion))
        print_indented(console, 4, f"[quiet]{escape(judgement.result.detail)}[/]")
    console.print()
    console.print(_render_summary(result), soft_wrap=not console.is_terminal)
    used = render_used(result.used, calibration.overall.judged)
    if used:
        console.print(f"[quiet]{escape(used)}[/]", soft_wrap=not console.is_terminal)


def _agreement_cells(agreement: Agreement) -> tuple[str, ...]:
    kappa = compute_kappa(agreement)
    style = "pass" if agreement.agreed == agreement.judged > 0 else "partial"
    return (
        f"[{style}]{agreement.agreed}/{agreement.judged}[/]",
        *interval_cells(wilson_interval(agreement.agreed, agreement.judged)),
        f"{kappa:.2f}" if kappa is not None else "[quiet]one label[/]" if agreement.judged else "",
        f"[fail]{agreement.false_passes}[/]" if agreement.false_passes else "0",
        f"[fail]{agreement.false_fails}[/]" if agreement.false_fails else "0",
        f"[errored]{agreement.errors}[/]" if agreement.errors else "0",
    )


def _print_disagreement(console: Console, judgement: Judgement) -> None:
    kind = "false pass" if judgement.agreement.false_passes else "false fail"
    note = f": {escape(judgement.label.note)}" if judgement.label.note else ""
    console.print()
    console.print(f"[fail]✗ {kind}[/]  [bold]{escape(judgement.conversation)}[/]")
    print_indented(console, 4, escape(judgement.label.criterion))
    print_labelled(console, 4, "person ", f"{'pass' if judgement.label.passed else 'fail'}{note}")
    print_labelled(
        console, 4, "judge  ", f"{'pass' if judgement.result.passed else 'fail'}: {escape(judgement.result.detail)}"
    )
    print_judge_evidence(console, judgement.result, indent=12)


def _render_summary(result: CalibrationResult) -> str:
    overall = result.calibration.overall
    kappa_value = compute_kappa(overall)
    reason = "all judged labels are the same" if overall.judged else "no label was judged"
    kappa = f"{reason}, so no κ" if kappa_value is None else f"κ {kappa_value:.2f}"
    false_passes = count_noun(overall.false_passes, "false pass", "false passes")
    wrong = f"{false_passes}, {count_noun(overall.false_fails, 'false fail')}"
    errors = f"   [errored]{overall.errors} not judged[/]" if overall.errors else ""
    judge = result.calibration.judge
    prompt = f"[quiet]prompt {judge.prompt}{f', {judge.votes} votes' if judge.votes > 1 else ''}[/]"
    return f"agreed with people in {overall.agreed} of {overall.judged} labels   {kappa}   {wrong}{errors}   {prompt}"


def label(
    run: RunReference,
    task: Annotated[str, typer.Argument(help="Name of a task, or part of it.")],
    criterion: Annotated[str, typer.Argument(help="Label of a criterion that a judge decided.")],
    right: Annotated[bool, typer.Option("--right/--wrong", help="Whether the judge is right.")],
    trial: Annotated[
        int | None,
        typer.Option(metavar="N", help="Trial of the task. [default: the first that failed]", min=1),
    ] = None,
    note: Annotated[str, typer.Option(metavar="TEXT", help="Reason, for later readers.")] = "",
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labelled set. [default: labelled.yml in the folder of the store]"),
    ] = None,
    store: StoreOption = None,
    json: Json = False,
) -> None:
    """Label the verdict of a judge as right or wrong, for `clerkship judge calibrate`.

    Exit codes: 0 written, 2 no judge decided this criterion.

    Example:

        clerkship judge label latest "Refund" "The agent gives the reason" --wrong --note "it only says sorry"
    """
    with open_store(load_settings(), store) as opened:
        written = label_verdict(opened, run, VerdictLabel(task, criterion, right, trial, note), file)
    if json:
        print_json(asdict(written))
        return
    holds = "holds" if written.passed else "does not hold"
    out().print(f"[quiet]labelled[/] {escape(written.criterion)}: it {holds}", soft_wrap=True)
    out().print(f"[quiet]saved[/] {escape(str(written.file))}", soft_wrap=True)
