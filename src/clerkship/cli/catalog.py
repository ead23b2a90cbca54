"""The catalog as a command gets it: whatever is wrong with the plug-ins is said once, on standard error."""

from rich.markup import escape

from clerkship.cli.console import err
from clerkship.engine.catalog import Registered


def registered() -> Registered:
    """Everything there is to name, after a word about what could not be loaded."""
    catalog = Registered()
    for warning in catalog.warnings():
        err().print(f"[partial]![/] {escape(warning)}", soft_wrap=True)
    return catalog
