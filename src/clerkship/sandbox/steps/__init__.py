"""Scenario steps that belong to no simulator, and the contract of all steps."""
