"""`clerkship dataset`: look into datasets, and make them up."""

import typer

from clerkship.cli.dataset_generate import generate

dataset = typer.Typer(name="dataset", help="Look into datasets, and make them up.", no_args_is_help=True)
dataset.command()(generate)


@dataset.callback()
def _group() -> None:
    """Look into datasets, and make them up."""
