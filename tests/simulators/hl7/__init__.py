"""Tests of the hl7 simulator."""
