"""Monitors of messages. One class and one file each."""
