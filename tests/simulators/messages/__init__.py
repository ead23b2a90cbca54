"""Tests of the messages simulator."""
