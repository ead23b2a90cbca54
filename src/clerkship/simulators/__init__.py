"""Simulated interfaces: one folder per kind. Each folder exports its SPEC."""
