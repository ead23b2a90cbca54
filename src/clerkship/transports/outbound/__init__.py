"""Outbound calls: deliveries of a sandbox to its agent, the addresses that are allowed, and retries."""
