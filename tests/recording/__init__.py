"""Recordings: cassettes, and runs that are recorded and replayed."""
