"""Strategies that no task may let pass: what `clerkship suite attack` runs over a suite."""
