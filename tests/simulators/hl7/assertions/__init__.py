"""Tests of the assertions of the hl7 simulator."""
