"""Tests of the data models."""
