"""Domains: state that several simulators share, without a transport of its own."""
