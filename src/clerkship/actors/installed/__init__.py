"""Agents that are command-line programs of others, installed on this machine."""
