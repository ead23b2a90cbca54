"""Import a module or an object by its name, where a plain import would load too much too early.

This is the only way in which the package imports its own modules late. docs/decisions/0018-start-of-commands.md says
where, and why.
"""

import gc
import sys
from importlib import import_module

TYPE_CHECKING = False  # to import `typing` for one annotation would double the time of `clerkship --version`
if TYPE_CHECKING:
    from typing import Any

freezes_imports = False
"""Whether the collector ignores what exists after an import. Only a process that runs one command sets this: what is
garbage later is ignored too.
"""


def load(target: str) -> "Any":
    """Return `package.module`, or an object of it as `package.module:name`; the module is imported the first time."""
    module, _, name = target.partition(":")
    is_collecting, is_new = gc.isenabled(), module not in sys.modules
    gc.disable()  # an import creates many objects and no garbage: the collector would take a tenth of its time
    try:
        imported = import_module(module)
    finally:
        if is_new and freezes_imports:
            gc.freeze()  # else the next collection looks at all that was imported
        if is_collecting:
            gc.enable()
    return getattr(imported, name) if name else imported
