"""Serve a hook on a free port of loopback, and print the port. Verify the JWT of each request with pyjwt, and use the
access token of each hook. When standard input ends, print what happened as JSON.

Runs in an environment of its own, so it imports nothing of the project.
"""

import json
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt

SERVICE = {"hook": "patient-view", "id": "reader", "description": "Reads the chart"}
CARD = {"uuid": "c-1", "summary": "Read", "indicator": "info", "source": {"label": "Reader"}}
verified: list[dict[str, Any]] = []
reads: list[dict[str, Any]] = []
tokens: list[str] = []


def fetch(server: str, path: str, token: str) -> int:
    """Return the status of a read with an access token."""
    request = urllib.request.Request(f"{server}/{path}", headers={"authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def verify(path: str, header: str) -> None:
    """Verify the JWT of a request with the keys that its header names."""
    token = header.removeprefix("Bearer ")
    keys_url = jwt.get_unverified_header(token)["jku"]
    key = jwt.PyJWKClient(keys_url).get_signing_key_from_jwt(token)
    audience = f"http://127.0.0.1:{server.server_address[1]}{path}"
    options = {"require": ["iss", "aud", "exp", "iat", "jti"]}
    claims = jwt.decode(token, key.key, algorithms=["ES384"], audience=audience, options=options)
    verified.append({"path": path, "jti": claims["jti"], "own": keys_url == f"{claims['iss']}/jwks.json"})
    tokens.append(token)


def use_token(request: dict[str, Any]) -> None:
    """Read with the access token of a hook, with that of the hook before, and with one that has expired."""
    chart, access = request["fhirServer"], request["fhirAuthorization"]
    token = access["access_token"]
    earlier = [each["token"] for each in reads]
    statuses = {path: fetch(chart, path, token) for path in ("Patient/ana", "Patient/eva", "Condition?patient=ana")}
    if access["expires_in"] == 1:
        time.sleep(1.1)
        statuses["expired"] = fetch(chart, "Patient/ana", token)
    if earlier:
        statuses["earlier"] = fetch(chart, "Patient/ana", earlier[-1])
    terms = {name: value for name, value in access.items() if name != "access_token"}
    reads.append({"token": token, "chart": chart, "terms": terms, "statuses": statuses})


class Handler(BaseHTTPRequestHandler):
    """Answers discovery, hooks and feedback."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer({"services": [SERVICE]})

    def do_POST(self) -> None:
        self.answer({"cards": [CARD]})

    def answer(self, data: dict[str, Any]) -> None:
        """Verify the JWT, use the access token of a hook, and send the answer; 401 if the JWT is not valid."""
        body, status = self.rfile.read(int(self.headers.get("content-length") or 0)), 200
        try:
            verify(self.path, self.headers.get("authorization", ""))
            if self.path.endswith("/reader"):
                use_token(json.loads(body))
        except (jwt.PyJWTError, KeyError, OSError) as error:
            status, data = 401, {"error": f"{type(error).__name__}: {error}"}
        sent = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: object) -> None:
        """Do not print requests."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdout.write(f"{server.server_address[1]}\n")
sys.stdout.flush()
sys.stdin.read()
sys.stdout.write(json.dumps({"verified": verified, "reads": reads, "tokens": tokens}))
