"""The agent of the test, on its own machine: it uses every protocol, and answers with what happened.

Started with the address to listen on, a certificate to trust, and an address of a third machine.
"""

import asyncio
import json
import smtplib
import socket
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import asyncssh

HOST, CERTIFICATE, THIRD = sys.argv[1:]
MLLP_PORT = 6661
TLS = ssl.create_default_context(cafile=CERTIFICATE)
DELIVERED: list[str] = []


def call(place: dict[str, Any], method: str, path: str, body: object = None, kind: str = "application/json") -> str:
    """Send a request to a sandbox; return the body of the answer, or the status of a refusal."""
    data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {place['token']}", "Content-Type": kind}
    try:
        with urlopen(Request(place["url"] + path, data, headers, method=method), context=TLS, timeout=10) as response:
            return str(response.read().decode())
    except HTTPError as error:
        return f"{error.code} {error.read().decode()}"


async def read_over_sftp(info: dict[str, Any]) -> str:
    """Read a file over SFTP."""
    known = asyncssh.import_known_hosts(info["host_key"])
    options = {"port": info["port"], "username": info["user"], "password": info["password"], "known_hosts": known}
    async with (
        asyncssh.connect(info["host"], client_keys=None, config=None, **options) as connection,
        connection.start_sftp_client() as sftp,
        sftp.open("inbox/order.txt") as file,
    ):
        return str(await file.read())


def send_over_smtp(info: dict[str, Any]) -> str:
    """Log in over TLS; return the answer to NOOP."""
    with smtplib.SMTP(info["host"], info["port"], timeout=10) as client:
        client.starttls(context=TLS)
        client.login(info["user"], info["password"])
        return str(client.noop()[0])


def send_over_mllp(info: dict[str, Any]) -> str:
    """Send a message; return the code of its acknowledgment."""
    header = rf"MSH|^~\&|AGENT|CLINIC|LAB|{info['facility']}|20260302090000||ADT^A04^ADT_A01|1|P|2.5.1"
    message = f"{header}\rEVN||20260302090000\rPID|1||1^^^CLINIC^MR||Okafor^Ada\rPV1|1|O\r"
    with (
        socket.create_connection((info["host"], info["port"]), timeout=10) as plain,
        TLS.wrap_socket(plain, server_hostname=info["host"]) as connection,
    ):
        connection.sendall(b"\x0b" + message.encode() + b"\x1c\r")
        return connection.recv(65536).decode().split("MSA|")[1][:2]


def accept_deliveries() -> None:
    """Acknowledge every message that is delivered over MLLP."""
    server = socket.create_server((HOST, MLLP_PORT))
    while True:
        connection, _ = server.accept()
        message = connection.recv(65536).decode()
        DELIVERED.append(message.split("|")[9])
        header = r"MSH|^~\&|A|B|C|D|20260302090000||ACK|1|P|2.5.1"
        connection.sendall(f"\x0b{header}\rMSA|AA|{DELIVERED[-1]}\r\x1c\r".encode())


def work(places: dict[str, Any], clock: dict[str, Any]) -> dict[str, Any]:
    """Use every sandbox."""
    found: dict[str, Any] = {"http": call(places["drop"], "GET", "/files/inbox/order.txt")}
    found["sftp"] = asyncio.run(read_over_sftp(places["drop"]["sftp"]))
    found["smtp"] = send_over_smtp(places["desk"]["smtp"])
    found["phone"] = call(places["phone"], "GET", "/calls")[:3]
    found["fhir"] = json.loads(call(places["ehr"], "GET", "/Patient?_count=1"))["link"][0]["url"]
    for name, host in (("third machine", THIRD), ("runner", "127.0.0.1")):
        found[name] = call(places["lab"], "PUT", "/hl7/listener", {"host": host, "port": MLLP_PORT})[:3]
    if "mllp" in places["lab"]:
        try:
            found["mllp"] = send_over_mllp(places["lab"]["mllp"])
        except (OSError, IndexError) as error:
            found["mllp"] = type(error).__name__
    found["own"] = call(places["lab"], "PUT", "/hl7/listener", {"host": HOST, "port": MLLP_PORT})
    call(clock, "POST", "/advance?by=10m")
    hosts = {places["drop"]["sftp"]["host"], places["desk"]["smtp"]["host"]}
    found |= {"delivered": DELIVERED, "hosts": sorted(hosts)}
    return found


class Handler(BaseHTTPRequestHandler):
    """Answers the message of the run."""

    def do_OPTIONS(self) -> None:
        """Answer the check before the run."""
        self.send_response(204)
        self.end_headers()

    def do_POST(self) -> None:
        """Do the task."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            answer: dict[str, Any] = work(message["sandboxes"], message["clock"])
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        body = json.dumps({"answer": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


threading.Thread(target=accept_deliveries, daemon=True).start()
server = HTTPServer((HOST, 8000), Handler)
sys.stdout.write("ready\n")
sys.stdout.flush()
server.serve_forever()
