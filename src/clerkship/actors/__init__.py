"""Agents and people: whoever acts in a playground."""
