"""Requests that touch every operation of a file drop."""

from clerkship.sandbox.exchange import Request

EXERCISE = (
    Request("GET", "/files"),
    Request("PUT", "/files/outbox/letter.txt", body=b"Dear colleague,"),
    Request("PUT", "/files/outbox/letter.txt", body=b"Dear colleague, again,"),
    Request("PUT", "/files/outbox/scan.bin", body=bytes(range(256)) * 40),
    Request("PUT", "/files/outbox/half.bin", body=b"only so f"),
    Request("PATCH", "/files/outbox/letter.txt", body=b'{"modified": "2026-02-27T17:30:00+01:00"}'),
    Request("GET", "/files/outbox/letter.txt"),
    Request("GET", "/files", {"prefix": "outbox"}),
    Request("GET", "/files", {"prefix": "outbox", "after": "outbox/half.bin", "count": "1"}),
    Request("PUT", "/folders/outbox/sent"),
    Request("GET", "/folders"),
    Request("GET", "/folders/outbox", {"count": "2"}),
    Request("GET", "/stat/outbox/letter.txt"),
    Request("GET", "/stat/outbox"),
    Request("GET", "/stat"),
    Request("GET", "/stat/nowhere", {"missing": "ok"}),
    Request("GET", "/space"),
    Request("GET", "/space/outbox/letter.txt", {"size": "4000000000"}),
    Request("PUT", "/files/outbox/letter.txt", body=b"Good!!"),
    Request("POST", "/rename", body=b'{"from": "outbox/letter.txt", "to": "outbox/sent/letter.txt"}'),
    Request("POST", "/rename", body=b'{"from": "outbox/half.bin", "to": "outbox/scan.bin", "replace": true}'),
    Request("POST", "/rename", body=b'{"from": "outbox", "to": "posted"}'),
    Request("DELETE", "/folders/posted"),
    Request("DELETE", "/files/posted/scan.bin"),
    Request("GET", "/files/posted/scan.bin"),
    Request("PUT", "/folders/empty"),
    Request("DELETE", "/folders/empty"),
)
