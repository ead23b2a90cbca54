"""`clerkship judge`: what is known of the models that judge."""

from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.calibrated import LabelProgress, print_calibrated
from clerkship.cli.catalog import registered
from clerkship.cli.console import err, out, print_json
from clerkship.cli.groups import grouped
from clerkship.cli.options import Json, StorePath
from clerkship.report.calibration import figures
from clerkship.service.calibrating import Calibrated, CalibrationRequest, Judgement, keep, plan_calibration
from clerkship.service.calibrating import calibrate as hold_against
from clerkship.service.reading import open_store
from clerkship.settings import load_settings

judge = typer.Typer(
    name="judge",
    help="Is the model that judges any good? Hold it against what people say.",
    no_args_is_help=True,
)


@judge.callback()
def _group() -> None:
    """A group, though it has one command so far."""


@judge.command()
@grouped
def calibrate(
    *,
    request: CalibrationRequest,
    at_least: Annotated[
        float | None, typer.Option(metavar="KAPPA", help="Exit 1 where κ is below this.", min=-1, max=1)
    ] = None,
    max_false_passes: Annotated[
        int | None, typer.Option(metavar="N", help="Exit 1 where the judge passes more that people failed.", min=0)
    ] = None,
    store: StorePath = None,
    json: Json = False,
) -> None:
    """Ask the judge about conversations that people have labelled, and print how far it agrees with them.

    Agreement with its 95 % interval, Cohen's κ, false passes and false fails, by criterion and in all; then each
    disagreement, for you to look at. What could not be judged is counted apart. It is kept, and reports of runs with
    the same judge (model, parameters, prompt, votes) show it.

    Exit code: 0 it ran · 1 less than --at-least, or more than --max-false-passes · 2 nothing can be said.

    Example:

        clerkship judge calibrate eval/labelled.yml --judge openai:gpt-5.1 --at-least 0.7
    """
    settings = load_settings()
    with open_store(settings, store, create=True) as kept:
        plan = plan_calibration(request, settings, registered(), kept)
        if not json:
            out().print(
                f"[bold]{escape(request.path.name)}[/]  {len(plan.labelled.items)} conversations, "
                f"{len(plan.labelled.labels())} labels  [quiet]judge[/] {escape(plan.judge.model)}"
            )
        with LabelProgress(out(), len(plan.labelled.labels()), quiet=json) as progress:
            found = hold_against(plan, [progress])
        keep(found, kept, request.save)
    code = found.exit_code(at_least, max_false_passes)
    if json:
        print_json(_data(found) | {"exit_code": code, "saved": request.save})
    else:
        print_calibrated(out(), found)
        if request.save is not None:
            out().print(f"[quiet]saved[/] {escape(str(request.save))}", soft_wrap=True)
    for told in [found.unsettled(at_least, max_false_passes), *found.missed(at_least, max_false_passes)]:
        if told and not json:
            err().print(f"[fail]✗[/] {escape(told)}", soft_wrap=True)
    raise typer.Exit(code)


def _data(found: Calibrated) -> dict[str, object]:
    calibration = found.calibration
    return {
        "judge": calibration.judge,
        "file": calibration.file,
        "labels": calibration.labels,
        "at": calibration.at,
        "overall": figures(calibration.overall),
        "criteria": {name: figures(one) for name, one in calibration.criteria.items()},
        "disagreements": [_judgement(one) for one in found.disagreements()],
        "errors": [_judgement(one) for one in found.unjudged()],
        "models": found.used,
    }


def _judgement(one: Judgement) -> dict[str, object]:
    verdict = {"passed": one.found.passed, "rationale": one.found.detail} if one.found.status == "judged" else None
    return {
        "conversation": one.conversation,
        "label": one.label,
        "verdict": verdict,
        "error": one.found.detail if verdict is None else None,
        "evidence": one.found.evidence,
    }
