"""Clients of SMART backend services and of Bulk Data, in environments of their own."""
