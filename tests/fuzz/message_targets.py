"""Fuzz targets for cards and text messages: any answer of a service is judged, any form of Twilio is answered."""

import orjson

from clerkship.formats.cds_hooks.validation import (
    MAX_CARDS,
    MAX_PROBLEMS,
    MAX_SERVICES,
    MAX_SYSTEM_ACTIONS,
    RULES,
    CdsProblem,
    validate_discovery,
    validate_response,
)
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import RequestContext
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import Reply, Request
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.messages import SPEC
from clerkship.simulators.messages.config import Contact, MessagesConfig
from clerkship.simulators.messages.twilio.form import FORM
from clerkship.simulators.messages.twilio.resources import build_number_sid
from tests.formats.cds_hooks.broken_examples import EXAMPLES

MAX_PROBLEM_BYTES = 2_000
"""Of one problem: a service cannot fill the log with what is wrong with its answer."""
OWN, ADA, GONE = "+15550100100", "+15550100111", "+15550100114"
ANSWERS = [path.read_bytes() for path in sorted(EXAMPLES.glob("response-*.json"))]
ANSWERS += [(EXAMPLES / "discovery.json").read_bytes()]
WORDS_OF_JSON = (
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"null", b"true", b"0", b"-1e999", b"1e400", b"9" * 30, b"\\ud800", b"\\",
    b'"cards":', b'"services":', b'"systemActions":', b'"suggestions":', b'"actions":', b'"links":', b'"source":',
    b'"summary":', b'"indicator":', b'"uuid":', b'"extension":', b'"resource":', b'"resourceType":', b'"prefetch":',
    b'"critical"', b'"at-most-one"', b'"delete"', b'"Patient/p1"', b'"{{context.patientId}}"', b'""', b"[]", b"{}",
    b'[{"a":' * 40, b"[" * 70, b"\xff", b"\xef\xbb\xbf", b"\0", b"\n", b"x" * 300,
)  # fmt: skip
FORMS = [
    b"To=%2B15550100111&From=%2B15550100100&Body=Your+visit+is+on+Tuesday",
    b"To=%2B15550100111&From=%2B15550100100&Body=%F0%9F%98%80&StatusCallback=http%3A%2F%2F127.0.0.1%3A9%2Fx",
    b"to=(555)+010-0111&FROM=%2B15550100100&body=a&Body=b",
    b"SmsUrl=http%3A%2F%2F127.0.0.1%3A9%2Ftexts&SmsMethod=POST",
    b"Body=&Status=canceled",
]
WORDS_OF_FORMS = (
    b"&", b"=", b";", b"+", b"%", b"%00", b"%0D%0A", b"%F0%9F%98%80", b"%ED%A0%80", b"%ff", b"\xff", b"To=", b"From=",
    b"Body=", b"MediaUrl=http://x", b"MessagingServiceSid=MG1", b"StatusCallback=", b"http://", b"http://[", b"file:///",
    b"SendAt=2026-01-01", b"ScheduleType=fixed", b"ValidityPeriod=-1", b"%2B15550100114", b"%2B15550100100", b"tel:",
    b"whatsapp:%2B15550100111", b"STOP", b"a=&" * 210, b"x" * 2000, b"%E2%80%AE", b"0",
)  # fmt: skip


def check_answer(data: object) -> None:
    """Judge an answer as cards and as services: within the limits, and what is kept stays valid."""
    response, discovery = validate_response(data, "p1"), validate_discovery(data)
    assert len(response.cards) <= MAX_CARDS
    assert len(response.system_actions) <= MAX_SYSTEM_ACTIONS
    assert len(discovery.services) <= MAX_SERVICES
    for problems in (response.problems, discovery.problems):
        _check_problems(problems)
    assert response.is_readable or (not response.cards and response.problems)
    actions = [action.to_wire() for action in response.system_actions]
    again = validate_response({"cards": [card.to_wire() for card in response.cards], "systemActions": actions}, "p1")
    assert (again.cards, again.system_actions) == (response.cards, response.system_actions)
    services = validate_discovery({"services": [service.to_wire() for service in discovery.services]})
    assert services.services == discovery.services


def _check_problems(problems: tuple[CdsProblem, ...]) -> None:
    dropping = sum(problem.dropped for problem in problems)
    assert max(dropping, len(problems) - dropping) <= MAX_PROBLEMS
    for problem in problems:
        assert problem.rule in RULES
        assert problem.message
        assert len(orjson.dumps(problem.model_dump())) <= MAX_PROBLEM_BYTES


class TextDesk:
    """A sandbox for text messages, in a playground of its own."""

    def __init__(self) -> None:
        contacts = (Contact(name="Ada", phone=ADA), Contact(name="Gone", phone=GONE, opted_out=True))
        config = MessagesConfig(contacts=contacts, numbers=(OWN,))
        environment = Environment(name="desk", simulators={"texts": Simulator(kind="messages")})
        prepared = PreparedSimulator(SPEC, config, SPEC.prepare(()))
        self.playground = Playground(environment, {"texts": prepared}, "forms")
        self.account = f"/2010-04-01/Accounts/{config.account_sid}"
        self._gateway = Gateway()
        self._gateway.add_playground(self.playground)

    def post(self, path: str, body: bytes) -> Reply:
        """Send a form."""
        request = Request("POST", f"{self.account}{path}", headers={"content-type": FORM}, body=body)
        token = self.playground.sandboxes["texts"].token
        call = HttpCall(request, "http://texts.invalid")
        return self._gateway.handle(RequestContext(self.playground.id, "texts", call, token))


def check_form(data: bytes) -> None:
    """Post a form to every resource that takes one: each answers with itself, or with an error of Twilio."""
    desk = TextDesk()
    reply = desk.post("/Messages.json", data)
    sid = str(orjson.loads(reply.body).get("sid", f"SM{'0' * 32}"))
    _check_reply(reply, "SM")
    _check_reply(desk.post(f"/Messages/{sid}.json", data), "SM")
    _check_reply(desk.post(f"/IncomingPhoneNumbers/{build_number_sid(OWN)}.json", data), "PN")
    _check_reply(desk.post("/Calls.json", data), "")
    assert desk.playground.broken is None


def _check_reply(reply: Reply, prefix: str) -> None:
    body = orjson.loads(reply.body)
    if reply.ok:
        assert prefix
        assert body["sid"].startswith(prefix)
    else:
        assert 400 <= reply.status < 500, reply.body
        assert (body["status"], body["message"] != "") == (reply.status, True)
        assert 20000 <= body["code"] < 70000
        assert len(body["message"]) < MAX_PROBLEM_BYTES
