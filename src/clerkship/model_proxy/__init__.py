"""The model proxy: the agent's own model calls, passed through to their provider and logged."""
