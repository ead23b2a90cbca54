"""An agent that is a program: reads a message per line, writes a reply per line. Python's own library is enough."""

import json
import re
import sys
from urllib.parse import quote
from urllib.request import Request, urlopen

known = {}  # what it remembers; each trial has a process of its own


def request(place, method, path, body=None):
    """Ask a sandbox something, with its token."""
    headers = {"Authorization": f"Bearer {place['token']}"}
    with urlopen(Request(place["url"] + quote(path), body, headers, method=method)) as reply:
        return reply.read()


def on_turn(message):
    """What to say to a person."""
    found = re.search(r"(?i)monday|tuesday|wednesday|thursday|friday", message["text"])
    if found:
        known["day"] = found[0]
        return f"{found[0]} at 10:00 is free. Shall I book it?"
    day = known.get("day")
    if day and "yes" in message["text"].lower():
        request(message["sandboxes"]["drop"], "PUT", "/files/bookings.txt", f"{day} 10:00".encode())
        report({"kind": "agent.action.executed", "name": "book", "arguments": {"day": day}})
        return f"Booked for {day} at 10:00. See you then!"
    return "Which day would suit you?"


def on_task(message):
    """The answer to a piece of work."""
    text = request(message["sandboxes"]["drop"], "GET", "/files/inbox/orders.csv").decode()
    return sum(int(line.split(",")[1]) for line in text.splitlines()[1:])


def report(event):
    """Have something that it did put in the log."""
    write({"report": event})


def write(reply):
    """One line, at once: a line kept in a buffer is a line not said."""
    print(json.dumps(reply), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    print(f"got a {message['type']}", file=sys.stderr)  # shown by `clerkship show`
    write({"say": on_turn(message)} if message["type"] == "turn" else {"answer": on_task(message)})
