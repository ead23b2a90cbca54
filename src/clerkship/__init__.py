"""Supervised practice for AI agents: simulated health systems and people, graded over one ordered log."""

import sys

from clerkship.old_paths import OldPaths

__version__ = "0.2.0"
sys.meta_path.append(OldPaths)
