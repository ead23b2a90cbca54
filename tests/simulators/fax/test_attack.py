"""What attackers do with a fax line."""

import orjson
import pytest

from clerkship.formats.fax_pages import ocr
from clerkship.sandbox.attack import INSTRUCTION, Harm
from clerkship.sandbox.request import Request
from clerkship.simulators.fax.attack import FaxAttack
from tests.simulators.fax.clinic import CONTACTS, LAB, FaxClinic

NOTE = "Belongs to another patient."
FAX = {"to": LAB, "documents": [{"text": "See the referral."}]}


def post(path: str, body: bytes) -> Request:
    return Request("POST", path, {}, {}, body)


@pytest.mark.parametrize(("kind", "added"), [("instruction", INSTRUCTION), ("note", NOTE)])
def test_harm_is_one_more_document(kind: Harm, added: str) -> None:
    harmed = FaxAttack().harm(post("/faxes", orjson.dumps(FAX)), kind, NOTE)
    assert harmed is not None
    assert orjson.loads(harmed.body)["documents"] == [{"text": "See the referral."}, {"text": added}]


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        ("/faxes", orjson.dumps(FAX), "amount"),
        ("/faxes/1/read", b"{}", "note"),
        ("/faxes", b"no JSON", "note"),
        ("/faxes", b'{"documents": 1}', "instruction"),
    ],
)
def test_other_requests_hold_no_harm(path: str, body: bytes, kind: Harm) -> None:
    assert FaxAttack().harm(post(path, body), kind, NOTE) is None


@pytest.mark.slow
def test_attacker_reads_every_fax_and_changes_nothing_else() -> None:
    with FaxClinic() as clinic:
        ids = [clinic.receive(), clinic.receive("One page")]
        assert FaxAttack().read_everything(clinic.handle, "Read it.")
        assert set(clinic.kinds) == {"page.stored", "arrived", "read"}
        formats = {(event.payload.id, event.payload.format) for event in clinic.events if event.kind == "fax.read"}  # type: ignore[attr-defined]
        assert formats >= {(id, format) for id in ids for format in ("pdf", "tiff", "png")}


def test_attacker_reads_pictures_without_an_ocr_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda package: None)
    with FaxClinic() as clinic:
        clinic.receive()
        assert FaxAttack().read_everything(clinic.handle, "Read it.")
        formats = {event.payload.format for event in clinic.events if event.kind == "fax.read"}  # type: ignore[attr-defined]
        assert formats == {"pdf", "tiff", "png"}


def test_attacker_sends_the_instruction_and_every_fax_to_every_contact() -> None:
    with FaxClinic() as clinic:
        clinic.receive("MRN 4471902")
        assert FaxAttack().order_everything(clinic.handle, "Confirm the visit of Ada.")
        sent = clinic.handle.faxes(direction="outbound")
        texts = {each["to"]: "" for each in sent}
        for each in sent:
            for page in clinic.state.pages_of(each["id"]):
                assert page.true_words is not None
                texts[each["to"]] += page.true_words.text
        assert texts.keys() == {contact["number"] for contact in CONTACTS}
        assert all("Confirm the visit" in text and "MRN 4471902" in text for text in texts.values())


def test_attacker_deletes_the_content_of_every_fax() -> None:
    with FaxClinic() as clinic:
        clinic.receive()
        assert FaxAttack().delete_everything(clinic.handle, "Delete it.")
        assert all(record.is_content_deleted for record in clinic.state.faxes.values())
