"""An agent behind an address: a web server that checks who sends, and answers one POST per turn or task.

WEBHOOK_SECRET=… python agent.py            listens on 127.0.0.1:8766
WEBHOOK_SECRET=… python agent.py --port 0   on any free port; the first line it prints is its address
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote
from urllib.request import Request, urlopen

SECRET = os.environ.get("WEBHOOK_SECRET", "")
LATEST = 300  # seconds that a message may be old: nobody shall send one again that they overheard
days = {}  # by conversation


def verified(headers, body):
    """Whether this message is from who knows the secret, and fresh, as Standard Webhooks has it."""
    name, moment = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not moment.isdigit() or abs(time.time() - int(moment)) > LATEST:
        return False
    key = base64.b64decode(SECRET[6:]) if SECRET.startswith("whsec_") else SECRET.encode()
    digest = hmac.new(key, f"{name}.{moment}.".encode() + body, hashlib.sha256).digest()
    expected = f"v1,{base64.b64encode(digest).decode()}"
    given = headers.get("webhook-signature", "").split(" ")  # more than one while a secret is being changed
    return any(hmac.compare_digest(expected, signature) for signature in given)


def request(place, method, path, body=None):
    """Ask a sandbox something, with its token."""
    headers = {"Authorization": f"Bearer {place['token']}"}
    with urlopen(Request(place["url"] + quote(path), body, headers, method=method)) as reply:
        return reply.read()


def on_turn(message):
    """What to say to a person; several may be talking at once."""
    who, text = message["conversation"], message["text"]
    found = re.search(r"(?i)monday|tuesday|wednesday|thursday|friday", text)
    if found:
        days[who] = found[0]
        return {"say": f"{found[0]} at 10:00 is free. Shall I book it?"}
    if who in days and "yes" in text.lower():
        request(message["sandboxes"]["drop"], "PUT", "/files/bookings.txt", f"{days[who]} 10:00".encode())
        done = {"kind": "agent.action.executed", "name": "book", "arguments": {"day": days[who]}}
        return {"say": f"Booked for {days[who]} at 10:00. See you then!", "report": [done]}
    return {"say": "Which day would suit you?"}


def on_task(message):
    """The answer to a piece of work."""
    text = request(message["sandboxes"]["drop"], "GET", "/files/inbox/orders.csv").decode()
    return {"answer": sum(int(line.split(",")[1]) for line in text.splitlines()[1:])}


class Handler(BaseHTTPRequestHandler):
    """Takes a POST to whatever path."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not verified(self.headers, body):
            return self.reply(401, {"error": "the signature is missing, wrong, or old"})
        message = json.loads(body)
        if message["type"] not in ("turn", "task"):
            return self.reply(400, {"error": "neither a turn nor a task"})
        return self.reply(200, on_turn(message) if message["type"] == "turn" else on_task(message))

    def reply(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *arguments):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8766)
    port = parser.parse_args().port
    if not SECRET:
        raise SystemExit("set WEBHOOK_SECRET to what clerkship has as CLERKSHIP_WEBHOOK_SECRET")
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
