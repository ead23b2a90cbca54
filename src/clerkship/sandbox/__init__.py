"""Contracts of one running simulator: its state, its operations, and the handle that an agent uses."""
