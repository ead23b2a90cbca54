"""Measure messages and CDS Hooks: rates beside plain servers, open threads, people, memory, hooks with prefetch.

    python -m benchmarks.messages [--quick]

A server is a process of its own, and one client keeps eight connections busy. The plain server is that of Python's
standard library, or aiosmtpd for e-mail: it parses the same requests, keeps them in a list and answers. It has no
consent, no delivery, no log and no threads, so the ratio says what these cost. Everything is on loopback
and ends by itself.
"""

import argparse
import base64
import gc
import json
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode

from benchmarks.http_load import Load, keep_asking, render_request
from benchmarks.messages_hooks import run_hooks
from benchmarks.messages_smtp import keep_sending, serve_mail, serve_plain_mail
from benchmarks.processes import BenchmarkSite, measure_case, measure_idle, resident, start_server
from benchmarks.table import render_table, times
from clerkship.actors.person_scripted import ScriptedPerson
from clerkship.model.scenario import ScenarioPerson
from clerkship.simulators import messages
from clerkship.simulators.messages.config import DEFAULT_ACCOUNT_SID, MessagesConfig
from clerkship.simulators.messages.events import MessageArrived
from clerkship.simulators.messages.handle import Messages

CONNECTIONS = 8
MOST = 10_000
"""Messages in one playground: each leaves several events, and the number of events is limited."""
THREADS = 1_000
IDLE = 300
GROWN = 10_000
"""Messages after which the cost of one more is measured."""
ANSWER = "Thank you, I will be there."
TEXT = "Your appointment is on Tuesday at nine."
FORM = "application/x-www-form-urlencoded"


def number_of(place: int) -> str:
    """Return the phone number of a contact."""
    return f"+1555{place:07d}"


def open_site(contacts: int = THREADS) -> BenchmarkSite:
    """Return a `messages` sandbox that knows many contacts."""
    people = [{"name": f"Person {place}", "phone": number_of(place)} for place in range(contacts)]
    return BenchmarkSite("desk", messages.SPEC, {"contacts": people})


def serve_sandbox() -> None:
    """Open a new playground for each line read, and print its address and the CPU time so far."""
    office = open_site()
    for _ in sys.stdin:
        handle = office.open()[1].get_as(Messages)
        sid = DEFAULT_ACCOUNT_SID
        line = {"url": handle.url, "token": handle.token, "sid": sid, "cpu": time.process_time()}
        print(json.dumps(line), flush=True)
    office.listener.close()


class PlainHandler(BaseHTTPRequestHandler):
    """Parses a message, keeps it, and answers with it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    received: list[dict[str, Any]] = []
    """Of all connections."""

    def do_POST(self) -> None:
        """Take one message."""
        body = self.rfile.read(int(self.headers["content-length"]))
        is_form = self.headers["content-type"] == FORM
        message = {key: values[0] for key, values in parse_qs(body.decode()).items()} if is_form else json.loads(body)
        self.received.append(message)
        answer = json.dumps({"id": len(self.received), **message}).encode()
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def serve_plain() -> None:
    """Serve with the standard library; print the address and the CPU time for each line read."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), PlainHandler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for _ in sys.stdin:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        print(json.dumps({"url": url, "token": "x", "sid": "AC", "cpu": time.process_time()}), flush=True)
    server.shutdown()


SERVERS: dict[str, Callable[[], None]] = {
    "sandbox": serve_sandbox,
    "plain": serve_plain,
    "mail": serve_mail,
    "plain_mail": serve_plain_mail,
}


def render_neutral(address: dict[str, Any]) -> bytes:
    """Return the request that sends an SMS by JSON."""
    body = json.dumps({"channel": "sms", "to": [number_of(1)], "text": TEXT}).encode()
    return render_request("POST", f"{address['url']}/messages", address["token"], body, "application/json")


def render_twilio(address: dict[str, Any]) -> bytes:
    """Return the request that sends an SMS by Twilio's form."""
    form = urlencode({"To": number_of(1), "From": MessagesConfig().numbers[0], "Body": TEXT}).encode()
    url = f"{address['url']}/2010-04-01/Accounts/{address['sid']}/Messages.json"
    basic = base64.b64encode(f"{address['sid']}:{address['token']}".encode()).decode()
    return render_request("POST", url, "x", form, FORM).replace(b"Bearer x", f"Basic {basic}".encode())


FORMS: dict[str, Callable[[dict[str, Any]], bytes]] = {"JSON": render_neutral, "Twilio's form": render_twilio}


class MessageRate(NamedTuple):
    """What a server reaches with one form of request."""

    load: Load
    per_cpu_second: float


def measure_rates(server: str, seconds: float, most: int = MOST) -> dict[str, MessageRate]:
    """Return messages per second by form of request, each in a new playground of one server."""
    rates = {}
    with start_server("benchmarks.messages", server) as find_address:
        for form, render in FORMS.items():
            address = find_address()
            load = keep_asking(address["url"].split("/")[2], render(address), CONNECTIONS, seconds, most)
            assert TEXT.encode() in load.sample, load.sample[:500]
            # The next playground costs little beside the load.
            spent = find_address()["cpu"] - address["cpu"]
            rates[form] = MessageRate(load, load.requests / spent)
    return rates


def measure_mail(server: str, seconds: float, most: int = MOST) -> MessageRate:
    """Return e-mails per second over SMTP, in a new playground."""
    with start_server("benchmarks.messages", server) as find_address:
        address = find_address()
        load = keep_sending(address, CONNECTIONS, seconds, most)
        after = find_address()
        assert after["stored"] == load.requests, (after["stored"], load.requests)
    return MessageRate(load, load.requests / (after["cpu"] - address["cpu"]))


def run_threads(threads: int) -> dict[str, float]:
    """Open so many threads, with a message in each direction, and list them."""
    office = open_site(threads)
    playground, sandboxes = office.open()
    desk = sandboxes.get_as(Messages)
    gc.collect()
    before, began = resident(), time.perf_counter()
    for place in range(threads):
        desk.send("sms", number_of(place), TEXT)
    playground.advance(timedelta(minutes=1))
    opened = time.perf_counter() - began
    gc.collect()
    used, began = resident() - before, time.perf_counter()
    assert len(desk.threads()) == threads
    listed = time.perf_counter() - began
    office.listener.close()
    return {"opened": opened, "listed": listed, "kilobytes": used / threads}


def run_people(people: int) -> dict[str, float]:
    """Open a thread with each of so many scripted people, who answer once, and return the time and memory of each."""
    office = open_site(people)
    playground, sandboxes = office.open()
    desk = sandboxes.get_as(Messages)
    gc.collect()
    before, began = resident(), time.perf_counter()
    for place in range(people):
        script = {"name": f"Person {place}", "channel": "sms", "address": number_of(place), "answers_after": "5m"}
        person = ScriptedPerson(ScenarioPerson.model_validate({**script, "lines": [ANSWER]}))
        playground.people.add_person(person, f"desk/sms:{number_of(place)}")
    playground.people.listening = True
    joined = time.perf_counter() - began
    began = time.perf_counter()
    for place in range(people):
        desk.send("sms", number_of(place), TEXT)
    playground.advance(timedelta(minutes=10))
    answered = time.perf_counter() - began
    gc.collect()
    used = resident() - before
    arrived = [event for event in playground.log.events if event.kind == MessageArrived.kind]
    assert len(arrived) == people, len(arrived)
    assert {event.payload.text for event in arrived if isinstance(event.payload, MessageArrived)} == {ANSWER}
    office.listener.close()
    return {"joined": joined, "answered": answered, "kilobytes": used / people}


def run_idle(playgrounds: int) -> dict[str, float]:
    """Return the kilobytes of an idle playground, and the microseconds in which a day passes on it."""
    return measure_idle(open_site(10), playgrounds)


def run_grown(messages_before: int) -> dict[str, float]:
    """Return the milliseconds of a message at the start, and after so many.

    The sample is large, because one full garbage collection would decide a small one.
    """
    office = open_site(10)
    playground, sandboxes = office.open()
    desk = sandboxes.get_as(Messages)

    def send(number: int) -> float:
        began = time.process_time()
        for place in range(number):
            desk.send("sms", number_of(place % 10), TEXT)
        playground.advance(timedelta(minutes=1))
        return (time.process_time() - began) / number * 1000

    sample = max(10, messages_before // 5)
    send(sample)
    first = send(sample)
    send(messages_before)
    last = send(sample)
    office.listener.close()
    return {"first": first, "last": last}


CASES: dict[str, Callable[[int], dict[str, float]]] = {
    "threads": run_threads,
    "people": run_people,
    "idle": run_idle,
    "grown": run_grown,
    "hooks": run_hooks,
}


def measure(case: str, size: int) -> dict[str, float]:
    """Measure one case in a process of its own."""
    return measure_case("benchmarks.messages", case, size)


def compare_rates(seconds: float) -> str:
    """Measure both servers with each form of request, and return the table."""
    ours, plain = measure_rates("sandbox", seconds), measure_rates("plain", seconds)
    rows = [_compare(f"HTTP, {form}", ours[form], plain[form]) for form in FORMS]
    rows.append(_compare("SMTP", *(measure_mail(server, seconds) for server in ("mail", "plain_mail"))))
    return render_table(("messages", "sandbox", "plain server", "ratio", "per CPU second: sandbox, plain, ratio"), rows)


def _compare(name: str, ours: MessageRate, plain: MessageRate) -> tuple[str, ...]:
    """Return a row of the table."""
    return (
        name,
        f"{ours.load.rate:,.0f}/s",
        f"{plain.load.rate:,.0f}/s",
        times(ours.load.rate / plain.load.rate),
        f"{ours.per_cpu_second:,.0f}, {plain.per_cpu_second:,.0f}, {times(ours.per_cpu_second / plain.per_cpu_second)}",
    )


def list_costs(threads: int, idle: int, grown: int, hooks: int) -> str:
    """Measure the rest, and return the table."""
    opened, grew, calls = measure("threads", threads), measure("grown", grown), measure("hooks", hooks)
    people = measure("people", threads)
    rows: list[tuple[str, ...]] = [
        (f"{threads:,} threads opened by a message each", f"{opened['opened']:.2f} s"),
        ("… memory of each", f"{opened['kilobytes']:.1f} KB"),
        ("… all listed", f"{opened['listed'] * 1000:.0f} ms"),
        (f"{threads:,} people who answer a message each, after five minutes", f"{people['answered']:.2f} s"),
        ("… joined before", f"{people['joined']:.2f} s"),
        ("… memory of each, with their thread", f"{people['kilobytes']:.1f} KB"),
        ("an idle playground with a desk", f"{measure('idle', idle)['kilobytes']:.1f} KB"),
        ("CPU time of a message at the start", f"{grew['first']:.2f} ms"),
        (f"… after {grown:,} messages", f"{grew['last']:.2f} ms"),
        ("hooks without prefetch", f"{calls['plain']:,.0f}/s", "≥ 500/s"),
        ("hooks with three prefetch queries", f"{calls['prefetch']:,.0f}/s"),
        ("the same service, called by a plain client", f"{calls['client']:,.0f}/s"),
    ]
    return render_table(("sandbox", "measured", "aim"), rows)


def main() -> None:
    """Parse the command line, and print the tables or the figures of one case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="that it works at all: seconds instead of minutes")
    parser.add_argument("--case", choices=(*SERVERS, *CASES), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=1, help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.case in SERVERS:
        SERVERS[options.case]()
    elif options.case:
        print(json.dumps(CASES[options.case](options.size)))
    else:
        print(compare_rates(0.3 if options.quick else 3.0), flush=True)
        print(
            f"\n{list_costs(20, 10, 100, 10) if options.quick else list_costs(THREADS, IDLE, GROWN, 500)}", flush=True
        )


if __name__ == "__main__":
    main()
