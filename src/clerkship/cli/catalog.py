"""The catalog as a command gets it: whatever is wrong with the plug-ins is said once, on standard error."""

from clerkship.cli.console import err, print_note
from clerkship.engine.catalog import Registered


def registered() -> Registered:
    """Everything there is to name, after a word about what could not be loaded."""
    catalog = Registered()
    for warning in catalog.warnings():
        print_note(warning, err())
    return catalog
