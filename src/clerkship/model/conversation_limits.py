"""Limits of a conversation that sets none."""

DEFAULT_MAX_TURNS = 50
DEFAULT_TURN_TIMEOUT = 60.0
"""Wall seconds for each answer."""
