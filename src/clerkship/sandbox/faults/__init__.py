"""Faults between an agent and a sandbox."""
