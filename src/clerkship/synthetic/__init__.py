"""Synthetic patients: a seeded generator of clinically plausible charts, around any now."""
