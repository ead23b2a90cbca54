"""What a page is made from: the store, and what its reader may see and change."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from clerkship.settings import Settings
from clerkship.store.contract import Store

PREFIX = "/view"
"""The path below which all pages are."""


@dataclass(frozen=True)
class ViewerContext:
    """What the handlers of pages are given."""

    settings: Settings
    open_store: Callable[[], AbstractContextManager[Store]]
    """Opens the store for one request; requests run in several threads."""
    can_change: bool = True
    """Whether the reader may label and delete."""
    may_see: Callable[[str], bool] = lambda run_id: True
    """Whether the reader may see a run. Others answer 404, like runs that do not exist."""
    lists: Callable[[str], bool] = lambda run_id: True
    """Whether a run is in the lists of the reader: also one whose results are hidden from its agent."""
    forget: Callable[[str], None] = lambda run_id: None
    """Called before a run is deleted. Raises RunBusy if it is at work elsewhere."""
    prefix: str = PREFIX
    """The path under which the browser reaches the pages; a proxy may put more in front."""
    store_option: str | None = ""
    """What commands need to name the store; None if the reader has no command line for it."""
    signs_out: bool = False
    """Whether the reader signed in with a key, and can sign out."""
    play: Any = None
    """The task that a person plays, if this is the viewer of `clerkship play`."""
