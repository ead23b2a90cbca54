"""Scenario files drafted from the flows of a Rasa project."""
