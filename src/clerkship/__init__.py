"""Supervised practice for AI agents: simulated health systems and people, graded over one ordered log."""

__version__ = "0.1.0"
