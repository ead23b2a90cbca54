"""The version of the generator and the limits of its input, which are known without importing it."""

from datetime import UTC, datetime

GENERATOR_VERSION = "2"
"""Increased whenever the same arguments give other bytes."""
DEFAULT_NOW = datetime(2026, 3, 2, 14, tzinfo=UTC)
"""The current time by default, the same as in an environment."""
MAX_PATIENTS = 100_000
