"""Requests that use every operation of a chat."""

from clerkship.sandbox.request import Request

EXERCISE = (
    Request("GET", "/session"),
    Request("POST", "/messages", body=b'{"text": "Good morning."}'),
    Request("GET", "/messages"),
    Request("GET", "/messages", {"after": "1"}),
    Request("POST", "/messages", body=b'{"text": "Which?", "buttons": [{"title": "This", "payload": "/this"}]}'),
)
