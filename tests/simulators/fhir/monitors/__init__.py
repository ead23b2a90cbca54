"""Monitors of the chart."""
