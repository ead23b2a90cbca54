"""Modules that moved: solutions and plug-ins written for an earlier version still find them at the old path.

The table names the public module that has the names now. See docs/decisions/0025-layout.md.
"""

import sys
import warnings
from importlib.machinery import ModuleSpec
from types import ModuleType

from clerkship.by_name import load

TYPE_CHECKING = False  # see `by_name`
if TYPE_CHECKING:
    from typing import Any

MOVED = {
    "clerkship.actors.contract": "clerkship.plugin",
    "clerkship.assertions.contract": "clerkship.plugin",
    "clerkship.conformance": "clerkship.plugin.conformance",
    "clerkship.domains.component": "clerkship.plugin",
    "clerkship.domains.contract": "clerkship.plugin",
    "clerkship.domains.payer.inquiry": "clerkship.plugin.x12",
    "clerkship.events.agent": "clerkship.plugin",
    "clerkship.faults.contract": "clerkship.plugin",
    "clerkship.hl7.message": "clerkship.plugin.hl7",
    "clerkship.library.dataset_type": "clerkship.plugin",
    "clerkship.sandbox.handle": "clerkship.plugin",
    "clerkship.simulators.cds.handle": "clerkship.plugin.cds_hooks",
    "clerkship.simulators.files.handle": "clerkship.plugin.files",
    "clerkship.simulators.x12.requests": "clerkship.plugin.x12",
    "clerkship.steps.contract": "clerkship.plugin",
    "clerkship.x12.interchange": "clerkship.plugin.x12",
    "clerkship.x12.segment_path": "clerkship.plugin.x12",
    "clerkship.x12.validation": "clerkship.plugin.x12",
    "clerkship.x12.writer": "clerkship.plugin.x12",
}
"""Old path -> public module. A path that still exists is found before this table is read."""


class OldPaths:
    """An import finder for the old paths, asked after all others."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how to import an old path; None for any other name."""
        if name in MOVED:
            return ModuleSpec(name, _LOADER)
        if any(moved.startswith(f"{name}.") for moved in MOVED):
            return ModuleSpec(name, _LOADER, is_package=True)
        return None


class _MovedModule:
    """Puts the public module in the place of the old one. A package above it stays empty."""

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Leave the creation of the module to Python."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        name = module.__name__
        if name in MOVED:
            warnings.warn(f"{name} moved: import from {MOVED[name]}", DeprecationWarning, stacklevel=2)
            sys.modules[name] = load(MOVED[name])


_LOADER: "Any" = _MovedModule  # not a subclass of `importlib.abc.Loader`, which would be imported for it
