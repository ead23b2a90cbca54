"""Tests of all that is Rasa's."""
