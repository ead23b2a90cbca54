"""Values of variables are redacted in every form in which tools write them."""

import base64
import html
import json
from urllib.parse import quote

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.model.redaction import Redactor, build_redactor, redact_criterion
from clerkship.model.run import CriterionRun, PageMark, PagePicture
from tests.examples import examples

VALUE = 'Sk-"live"/77+Ünï?~'
SECRETS = build_redactor({"KEY": VALUE, "SHORT": "abc", "WORD": "w0rd", "LONGER": f"{VALUE}-and-more"})


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        VALUE.upper(),
        VALUE.lower(),
        quote(VALUE, safe=""),
        quote(VALUE, safe="").lower(),
        json.dumps(VALUE)[1:-1],
        json.dumps(VALUE, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(VALUE, ensure_ascii=False), ensure_ascii=False)[3:-3],
        html.escape(VALUE),
        VALUE.encode().hex(),
    ],
)
def test_every_spelling_of_a_value_is_replaced(form: str) -> None:
    assert SECRETS.text(f"<{form}>") == "<${KEY}>"


@settings(max_examples=examples(150), deadline=None)
@given(st.binary(max_size=7), st.binary(max_size=7), st.booleans(), st.booleans())
def test_base64_is_found_at_any_alignment(before: bytes, after: bytes, padded: bool, safe: bool) -> None:
    data = before + VALUE.encode() + after
    text = (base64.urlsafe_b64encode if safe else base64.b64encode)(data).decode()
    shown = SECRETS.text(text if padded else text.rstrip("="))
    assert "${KEY}" in shown
    left = [part for part in shown.split("${KEY}") if part]
    assert sum(map(len, left)) <= (len(before) + len(after)) * 4 / 3 + 4


def test_longest_value_is_replaced_first_and_short_ones_only_literally() -> None:
    assert SECRETS.text(f"{VALUE}-and-more {VALUE} w0rd W0RD abc") == "${LONGER} ${KEY} ${WORD} W0RD abc"


def test_only_texts_are_redacted_in_data() -> None:
    by = Redactor({"PIN": "12345678"})
    data = {"12345678": [12345678, "no 12345678", None, True, 1.5]}
    assert by.data(data) == {"${PIN}": [12345678, "no ${PIN}", None, True, 1.5]}


def test_log_line_keeps_its_fields_and_unchanged_lines_their_bytes() -> None:
    by = Redactor({"KIND": "chat.message.sent"})
    record = {"seq": 1, "kind": "chat.message.sent", "payload": {"text": "a chat.message.sent"}}
    assert orjson.loads(by.line(orjson.dumps(record))) == record | {"payload": {"text": "a ${KIND}"}}
    other = b'{ "payload": {"text": "nothing"}}'
    assert by.line(other) is other


def test_bytes_that_are_not_utf8_are_kept() -> None:
    assert Redactor({"KEY": "0123456789"}).body(b"\xff\x000123456789\xfe") == b"\xff\x00${KEY}\xfe"


def test_texts_of_pages_in_evidence_are_redacted() -> None:
    marks = (PageMark(text=f"MRN {VALUE}", sort="found", boxes=((1, 2, 3, 4),)),)
    picture = PagePicture(source="fax", page="ab", caption=f"page for {VALUE}", marks=marks)
    result = CriterionRun(label="x", assertion="a", status="judged", pictures=(picture,))
    [redacted] = redact_criterion(result, SECRETS).pictures
    assert redacted.caption == "page for ${KEY}"
    assert redacted.marks == (PageMark(text="MRN ${KEY}", sort="found", boxes=((1, 2, 3, 4),)),)
