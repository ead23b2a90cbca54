"""`clerkship dataset`: look into datasets, and make them up."""

import typer

from clerkship.cli.dataset_generate import generate
from clerkship.cli.dataset_show import show

dataset = typer.Typer(name="dataset", help="Look into datasets, and make them up.", no_args_is_help=True)
dataset.command()(show)
dataset.command()(generate)
