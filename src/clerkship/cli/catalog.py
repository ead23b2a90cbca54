"""The catalog that commands use."""

from rich.markup import escape

from clerkship.cli.console import err
from clerkship.engine.catalog import RegisteredCatalog


def registered() -> RegisteredCatalog:
    """Everything there is to name, after a word about what could not be loaded."""
    catalog = RegisteredCatalog()
    for warning in catalog.warnings():
        err().print(f"[partial]![/] {escape(warning)}", soft_wrap=True)
    return catalog
