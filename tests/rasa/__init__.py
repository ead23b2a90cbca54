"""Tests of the Rasa integration."""
