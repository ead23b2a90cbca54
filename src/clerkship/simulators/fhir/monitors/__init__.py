"""Monitors of the chart: what no task wants to be read or written there. One class and one file each."""
