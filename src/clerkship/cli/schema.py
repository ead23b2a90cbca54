"""`clerkship schema`: JSON Schemas of the files."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from clerkship.cli.catalog import build_catalog
from clerkship.cli.console import out, print_json
from clerkship.cli.options import Json
from clerkship.model.errors import InputError
from clerkship.service.schemas import FILE_MODELS, build_schema, find_schema_folder, write_schemas


def schema(
    kind: Annotated[str | None, typer.Argument(help=f"One of {', '.join(FILE_MODELS)}.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Write the schemas to .clerkship/schemas, where new files look for them.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the JSON Schema of a kind of file, or write the schemas for editors.

    Editors with the YAML language server use them to complete and check keys. Files written by `clerkship init` and
    `clerkship new` name their schema in the first line. Use --write after a checkout or an update. Examples:

        clerkship schema scenario > scenario.schema.json

        clerkship schema --write
    """
    if kind is None and not write:
        raise InputError.of("a kind of file is needed", hint=f"give one of {', '.join(FILE_MODELS)}, or --write")
    if not write:
        assert kind is not None
        print_json(build_schema(kind, build_catalog()))
        return
    written = write_schemas(find_schema_folder(Path()), [kind] if kind is not None else FILE_MODELS, build_catalog())
    paths = [path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path for path in written]
    if json:
        print_json({"written": paths})
        return
    for path in paths:
        out().print(f"[pass]+[/] {escape(str(path))}", soft_wrap=True)
