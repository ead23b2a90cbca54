"""Requests that touch every operation of a file drop."""

from clerkship.sandbox.exchange import Request

EXERCISE = (
    Request("GET", "/files"),
    Request("PUT", "/files/outbox/letter.txt", body=b"Dear colleague,"),
    Request("PUT", "/files/outbox/letter.txt", body=b"Dear colleague, again,"),
    Request("PUT", "/files/outbox/scan.bin", body=bytes(range(256)) * 40),
    Request("GET", "/files/outbox/letter.txt"),
    Request("GET", "/files", {"prefix": "outbox"}),
    Request("DELETE", "/files/outbox/scan.bin"),
    Request("GET", "/files/outbox/scan.bin"),
)
