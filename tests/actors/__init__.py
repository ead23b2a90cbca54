"""Tests of actors."""
