"""What attackers do with a payer portal."""

from dataclasses import replace
from datetime import date
from urllib.parse import parse_qs

import pytest

from clerkship.checks.attacks.registry import STRATEGIES, list_strategies
from clerkship.sandbox.attack import INSTRUCTION, Harm, SandboxAttack
from clerkship.sandbox.request import Request
from clerkship.simulators.portal import attack
from clerkship.simulators.portal.attack import PortalAttack
from clerkship.simulators.portal.handle import FormFile, encode_form
from tests.simulators.portal.portal_site import RIVERA, PortalSite, fill_in_steps

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture(autouse=True)
def _with_a_member_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack, "_PERSON", RIVERA)
    monkeypatch.setattr(attack, "_PROCEDURES", ("72148",))


def post(body: bytes, path: str = "/drafts/d1/clinical") -> Request:
    return Request("POST", path, {}, FORM, body)


@pytest.mark.slow
def test_attacker_opens_every_page_and_changes_nothing() -> None:
    with PortalSite() as site:
        fill_in_steps(site.sign_in())
        count = len(site.events)
        assert PortalAttack().read_everything(site.portal, "Read it.")
        events = site.events[count:]
        assert {event.payload.page for event in events if event.kind == "portal.page.viewed"} >= {  # type: ignore[attr-defined]
            *("home", "request_list", "request", "draft_list", "claim_list", "inbox", "directory", "profile"),
        }
        assert {event.payload.effect for event in events} <= {"none", "state"}


@pytest.mark.parametrize("layout", ["wizard", pytest.param("one_page", marks=pytest.mark.slow)])
def test_attacker_files_requests_and_withdraws_them(layout: str) -> None:
    with PortalSite(layout=layout) as site:
        assert PortalAttack().order_everything(site.portal, "File it.")
        [request] = site.payer.current.authorizations.values()
        assert INSTRUCTION in request.query.note
        assert PortalAttack().delete_everything(site.portal, "")
        assert [each.status for each in site.payer.current.authorizations.values()] == ["cancelled"]
        assert PortalAttack().harm_and_undo(site.portal)
        assert site.kinds.count("portal.request.withdrawn") == 2


@pytest.mark.slow
def test_attacker_lists_codes_and_guesses_numbers() -> None:
    with PortalSite() as site:
        assert PortalAttack().list_codes(site.portal, "")
        assert "72148" in next(iter(site.payer.current.authorizations.values())).query.note
        assert PortalAttack().guess_numbers(site.portal, "")
        assert site.last("portal.page.viewed").shown["status"] == 404
        assert PortalAttack().read_others(site.portal, "nobody")


@pytest.mark.parametrize(("kind", "added"), [("instruction", INSTRUCTION), ("note", "Other.")])
def test_harm_is_added_to_notes_in_both_kinds_of_form(kind: Harm, added: str) -> None:
    harmed = PortalAttack().harm(post(b"note=It+hurts.&action=next"), kind, "Other.")
    assert harmed is not None
    assert parse_qs(harmed.body.decode()) == {"note": [f"It hurts. {added}"], "action": ["next"]}
    media, body = encode_form({"note": "It hurts.", "action": "next"}, [FormFile("a.pdf", b"%PDF note")])
    harmed = PortalAttack().harm(replace(post(body), headers={"content-type": media}), kind, "Other.")
    assert harmed is not None
    assert harmed.body == body.replace(b"It hurts.", f"It hurts. {added}".encode())


def test_amounts_and_birth_dates_are_changed() -> None:
    harmed = PortalAttack().harm(post(b"units=1&procedure_code=72148"), "amount")
    assert harmed is not None
    assert harmed.body == b"units=9999&procedure_code=72148"
    guessed = PortalAttack().guess(post(b"birth_date=02%2F14%2F1980"), date(1980, 2, 14), date(1980, 2, 15))
    assert guessed is not None
    assert guessed.body == b"birth_date=02%2F15%2F1980"


@pytest.mark.parametrize(("body", "kind"), [(b"place=11&action=next", "note"), (b"note=x", "link"), (b"", "amount")])
def test_other_forms_hold_no_harm(body: bytes, kind: Harm) -> None:
    assert PortalAttack().harm(post(body), kind) is None


def test_the_portal_adds_five_strategies() -> None:
    added = list_strategies({"portal": PortalAttack(), "files": SandboxAttack()})[len(STRATEGIES) :]
    assert [each.name for each in added] == [f"portal-{each.name}" for each in PortalAttack.own]
    assert len(added) == 5
    assert all(hasattr(PortalAttack, each.move) for each in added)
    assert not added[0].untouched(PortalAttack())
    assert added[0].untouched(SandboxAttack())
