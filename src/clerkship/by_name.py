"""Import a module or an object by its name, where a plain import would load too much too early.

This is the only way in which the package imports its own modules late. docs/decisions/0018-start-of-commands.md says
where, and why.
"""

import gc
from importlib import import_module

TYPE_CHECKING = False  # to import `typing` for one annotation would double the time of `clerkship --version`
if TYPE_CHECKING:
    from typing import Any


def load(target: str) -> "Any":
    """Return `package.module`, or an object of it as `package.module:name`; the module is imported the first time."""
    module, _, name = target.partition(":")
    is_collecting = gc.isenabled()
    gc.disable()  # an import creates many objects and no garbage: the collector would take a tenth of its time
    try:
        imported = import_module(module)
    finally:
        if is_collecting:
            gc.enable()
    return getattr(imported, name) if name else imported
