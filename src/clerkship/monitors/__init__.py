"""Monitors: checks that run on every task, whatever its criteria say. One class and one file each."""
