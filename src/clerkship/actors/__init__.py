"""Agents and simulated people."""
