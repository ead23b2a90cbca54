"""Isolation of agents that are programs: what they must not see, and the ways to hide it from them.

See docs/decisions/0003-workers-and-agent-isolation.md.
"""
