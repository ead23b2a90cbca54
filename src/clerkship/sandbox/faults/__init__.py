"""Faults between an agent and a sandbox, one per file."""
