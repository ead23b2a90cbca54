"""Tests of the x12 simulator."""
