"""Pure data."""
