"""Tests of transports."""
