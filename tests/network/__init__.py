"""Runs with an agent on another machine: one in a network namespace of its own."""
