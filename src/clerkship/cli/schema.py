"""`clerkship schema`: JSON Schemas of the files."""

from typing import Annotated

import typer

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import print_json
from clerkship.cli.options import Json
from clerkship.service.schemas import FILE_MODELS, build_schema


def schema(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(FILE_MODELS)}.")],
    json: Json = False,
) -> None:
    """Print the JSON Schema of a kind of file.

    Editors with the YAML language server can use it. Example:

        clerkship schema scenario > scenario.schema.json
    """
    print_json(build_schema(kind, build_catalog()))
