"""Synthetic patients: a seeded generator of clinically plausible records, relative to any current time."""
