"""`clerkship schema`: JSON Schemas of the files."""

from typing import Annotated

import typer

from clerkship.cli.catalog import registered
from clerkship.cli.console import print_json
from clerkship.cli.options import Json
from clerkship.service.schemas import FILE_MODELS
from clerkship.service.schemas import build_schema as schema_of


def schema(
    sort: Annotated[str, typer.Argument(help=f"One of {', '.join(FILE_MODELS)}.")],
    json: Json = False,
) -> None:
    """Print the JSON Schema of a sort of file, for editors and for other programs. It is JSON with or without --json.

    Example, for an editor with the YAML language server:

        clerkship schema scenario > scenario.schema.json
    """
    print_json(schema_of(sort, registered()))
