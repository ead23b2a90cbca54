"""Simulated interfaces: one closed folder per kind, each exporting its SPEC."""
