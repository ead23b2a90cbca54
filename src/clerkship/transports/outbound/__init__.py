"""Outbound calls: what a sandbox sends to its agent, where it may connect to, and when it tries again."""
