"""Trials on Temporal: a run gives them to workers on other machines, and saves what they send back.

`temporalio` is imported in this package alone, and only when `--on temporal://` or `clerkship worker` is used.

See docs/decisions/0048-many-machines.md.
"""
