"""Any form gets a text message or an error of Twilio, never a failure of the server."""

from urllib.parse import urlencode

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.fuzz.message_targets import ADA, FORMS, GONE, OWN, TextDesk, check_form

NAMES = st.sampled_from(
    (
        *("To", "From", "Body", "StatusCallback", "MessagingServiceSid", "MediaUrl", "SmsUrl", "SmsMethod", "Status"),
        *("MaxPrice", "ProvideFeedback", "ValidityPeriod", "SendAt", "ScheduleType", "ContentSid", "to", "BODY"),
    )
)
VALUES = st.text(max_size=20) | st.sampled_from(
    (
        *(
            ADA,
            GONE,
            OWN,
            "",
            "+1",
            "(555) 010-0111",
            f"whatsapp:{ADA}",
            "tel:+15550100111",
            "SHORT",
            "STOP",
            "a" * 1601,
        ),
        *(
            "http://127.0.0.1:9/",
            "http://[",
            "https://user:pass@x.example",
            "ftp://x",
            "canceled",
            "true",
            "\0",
            "\r\n",
        ),
    )
)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(NAMES | st.text(max_size=5), VALUES), max_size=6))
@example([("To", ADA), ("From", OWN), ("Body", "Hello")])
@example([("To", ADA), ("From", OWN), ("Body", "\ufffd\u202e\0")])
def test_any_parameters_are_answered(pairs: list[tuple[str, str]]) -> None:
    check_form(urlencode(pairs, errors="replace").encode())


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=200))
@example(b"To=%2B15550100111&From=%2B15550100100&Body=%ED%A0%80")
@example(b"&" * 90_000)
@example(b"Body=" + b"x" * 90_000)
@example(b"x" * 200_000)
def test_any_bytes_are_answered(body: bytes) -> None:
    check_form(body)


def test_the_valid_form_is_a_message() -> None:
    assert TextDesk().post("/Messages.json", FORMS[0]).status == 201
