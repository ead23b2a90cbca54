"""Benchmarks that are being written on a server: their objects, which are views of the files of a suite."""
