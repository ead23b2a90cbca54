"""Decisions of payers arrive as letters in a payer portal, and its one-time codes as messages."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clerkship.engine.build import prepare_domains, prepare_simulators
from clerkship.engine.catalog import RegisteredCatalog, build_catalog_without_plugins
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError
from clerkship.payer.determination_rule import Determination
from clerkship.payer.scenario_changes import RecordedAuthorization
from clerkship.payer.state import PayerState
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground, PlaygroundOptions
from clerkship.simulators.messages.handle import Messages
from clerkship.simulators.portal.handle import Portal
from clerkship.simulators.portal.records import Letter
from clerkship.simulators.portal.state import PortalState
from clerkship.suite_files.load import load_library
from tests.simulators.portal.portal_site import NPI, PAYER_CONFIG

QUESTION = {"id": "weeks", "text": "How many weeks of therapy?", "type": "number"}
OVERTURNED = {"appeals": {"delay": "1d", "rules": [{"outcome": "overturned", "text": "The notes support it."}]}}


class Practice:
    """A payer portal with its payers, and the messages of the practice."""

    def __init__(self, portal: dict[str, Any] | None = None, payer: dict[str, Any] | None = None) -> None:
        numbers = {"numbers": ["+15550100100", "+15550100140"], "addresses": ["front@clinic.example"]}
        environment = Environment.model_validate(
            {
                "name": "practice",
                "simulators": {
                    "portal": {"kind": "portal", "config": {"organization": {"npi": NPI}, **(portal or {})}},
                    "desk": {"kind": "messages", "config": numbers},
                },
                "domains": {"payer": {"kind": "payer", "config": {**PAYER_CONFIG, **(payer or {})}}},
                "reactions": [
                    "payer.authorization.determined -> portal",
                    "payer.appeal.decided -> portal",
                    "portal.code.sent -> desk",
                ],
            }
        )
        catalog = build_catalog_without_plugins()
        simulators = prepare_simulators(environment, {}, catalog)
        options = PlaygroundOptions(domains=prepare_domains(environment, {}, catalog))
        self.playground = Playground(environment, simulators, "x", options)
        sandboxes = open_sandboxes(Gateway(), self.playground, lambda *_: "http://localhost")
        self.portal, self.desk = sandboxes.get_as(Portal), sandboxes.get_as(Messages)

    @property
    def letters(self) -> list[Letter]:
        return list(self.playground.state(PortalState, None)[0].letters.values())

    def record(self, status: str) -> None:
        """Record the request R100 of an earlier day."""
        payer, action = self.playground.state(PayerState, None)
        fields = {"reference": "R100", "provider_id": NPI, "services": [{"procedure_code": "72148"}]}
        recorded = RecordedAuthorization.model_validate({**fields, "status": status})
        payer.set_authorization(action, payer.current.get_member("NW001/NW55501/0"), recorded)

    def decide(self, **rule: Any) -> None:
        """Let the payer decide what is open."""
        payer, action = self.playground.state(PayerState, None)
        payer.set_determination(action, Determination.model_validate(rule), is_open=True, is_lasting=False)


def test_decisions_and_requests_for_information_arrive_as_letters_that_can_be_opened() -> None:
    practice = Practice()
    practice.record("pending")
    assert practice.letters == []
    practice.decide(status="need_more_info", questions=[QUESTION])
    practice.decide(status="denied", reason="not_medically_necessary", text="There is no record of therapy.")
    first, second = practice.letters
    assert first.subject == "Request for information about R100"
    assert "How many weeks of therapy?" in first.paragraphs
    assert second.subject == "Denial of your request R100"
    assert second.member_name == "Ana Rivera"
    browser = practice.portal.browser()
    browser.sign_in()
    assert "There is no record of therapy." in browser.open(f"/inbox/{second.id}").text


def test_letters_follow_an_appeal_that_is_decided_later() -> None:
    practice = Practice(payer=OVERTURNED)
    practice.record("denied")
    browser = practice.portal.browser()
    browser.sign_in()
    browser.open("/requests/R100/appeal")
    browser.send("File the appeal", {"reason": "The notes show nine weeks of therapy."})
    assert practice.letters == []
    practice.playground.advance(timedelta(days=2))
    assert [each.subject.split(" ")[0] for each in practice.letters] == ["Decision", "Approval"]


@pytest.mark.parametrize(
    ("npi", "payer"), [("1987654320", None), (NPI, "SW002")], ids=["another practice", "another payer"]
)
def test_a_decision_that_the_practice_cannot_read_there_brings_no_letter(npi: str, payer: str | None) -> None:
    practice = Practice(
        portal={"organization": {"npi": npi}, "layout": "one_page" if payer else "wizard", "payer": payer}
    )
    practice.record("pending")
    practice.decide(status="approved")
    payers, _ = practice.playground.state(PayerState, None)
    assert payers.current.authorizations["R100"].status == "approved"
    assert practice.letters == []


@pytest.mark.parametrize(
    ("channel", "sender", "to"),
    [
        ("text", "+15550100186", ["+15550100140"]),
        ("email", "no-reply@lindenway.example", ["front@clinic.example"]),
    ],
)
def test_one_time_code_arrives_as_message_and_signs_in(channel: str, sender: str, to: list[str]) -> None:
    practice = Practice(portal={"friction": {"one_time_code": channel}})
    browser = practice.portal.browser()
    assert browser.sign_in().path == "/sign-in/code"
    [message] = practice.desk.inbox()
    assert (message["from"], message["to"]) == (sender, to)
    text = practice.desk.read(message["id"])["text"]
    assert text.startswith("Lindenway: ")
    [code] = re.findall(r"\b\d{6}\b", text)
    browser.send("Continue", {"code": code})
    assert browser.open("/requests").path == "/requests"


def test_one_time_codes_that_arrive_nowhere_are_a_mistake_with_its_line(tmp_path: Path) -> None:
    environment = """\
environment:
  name: desk
  simulators:
    portal:
      kind: portal
      config: {friction: {one_time_code: text}}
    messages: {kind: messages}
  domains: {payer: {kind: payer}}
"""
    (tmp_path / "environment.yml").write_text(environment, encoding="utf-8")
    with pytest.raises(InputError) as found:
        load_library(tmp_path, RegisteredCatalog(), needs_task=False)
    [problem] = found.value.problems
    assert (problem.line, problem.key) == (6, "environment.simulators.portal.config")
    assert problem.message.startswith("friction.one_time_code: the codes arrive nowhere")
    reactions = environment + "  reactions: [portal.code -> messages]\n"
    (tmp_path / "environment.yml").write_text(reactions, encoding="utf-8")
    load_library(tmp_path, RegisteredCatalog(), needs_task=False)
