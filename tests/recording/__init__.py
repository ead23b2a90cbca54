"""Tests of cassettes, recording and replay."""
