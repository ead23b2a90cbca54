"""The catalog that commands use."""

from rich.markup import escape

from clerkship.cli.console import err
from clerkship.engine.catalog import RegisteredCatalog


def build_catalog() -> RegisteredCatalog:
    """Return the catalog, after warning about plug-ins that could not be loaded."""
    catalog = RegisteredCatalog()
    for warning in catalog.warnings():
        err().print(f"[partial]![/] {escape(warning)}", soft_wrap=True)
    return catalog
